--  SPDX-License-Identifier: GPL-2.0-or-later

--  ada_work: two tasks that sort a vector, raise exceptions and recurse.
with Ada.Containers.Vectors;
with Ada.Text_IO;

procedure Ada_Work is
   package Vectors is new Ada.Containers.Vectors (Positive, Integer);
   package Sorting is new Vectors.Generic_Sorting;

   Too_Large : exception;

   function Fib (N : Integer) return Integer is
     (if N < 2 then N else Fib (N - 1) + Fib (N - 2));

   procedure Check (N : Integer) is
   begin
      if N mod 3 = 0 then
         raise Too_Large with Integer'Image (N);
      end if;
   end Check;

   task type Worker;

   task body Worker is
      Items : Vectors.Vector;
      Sum : Integer := 0;
   begin
      for Round in 1 .. 30 loop
         Sum := (Sum + Fib (24)) mod 100_003;
         Items.Clear;
         for I in 1 .. 40_000 loop
            Items.Append ((I * 7919) mod 10_007);
         end loop;
         Sorting.Sort (Items);
         for I in 1 .. 1_500 loop
            begin
               Check (I);
            exception
               when Too_Large => Sum := Sum + 1;
            end;
         end loop;
      end loop;
      Ada.Text_IO.Put_Line (Integer'Image (Sum));
   end Worker;

   Workers : array (1 .. 2) of Worker;
   pragma Unreferenced (Workers);
begin
   null;
end Ada_Work;
