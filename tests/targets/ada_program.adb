--  SPDX-License-Identifier: GPL-2.0-or-later

--  ada_program: an operator, an overloaded and a nested procedure, and a task.
procedure Ada_Program is
   package Shapes is
      type Point is record
         X : Integer := 1;
      end record;
      function "+" (Left, Right : Point) return Point;
      procedure Grow (P : in out Point);
      procedure Grow (P : in out Point; By : Integer);
      task type Worker;
   end Shapes;

   package body Shapes is
      function "+" (Left, Right : Point) return Point is
      begin
         return (X => (Left.X + Right.X) mod 1009);
      end "+";

      procedure Grow (P : in out Point) is
         procedure Twice is
         begin
            P := P + P;
         end Twice;
      begin
         Twice;
      end Grow;

      procedure Grow (P : in out Point; By : Integer) is
      begin
         P.X := (P.X + By) mod 1013;
      end Grow;

      task body Worker is
         P : Point;
      begin
         Grow (P);
      end Worker;
   end Shapes;

   P : Shapes.Point;
   W : Shapes.Worker;
begin
   for I in 1 .. 100 loop
      Shapes.Grow (P);
      Shapes.Grow (P, I);
   end loop;
end Ada_Program;
