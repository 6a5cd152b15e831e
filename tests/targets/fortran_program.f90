! SPDX-License-Identifier: GPL-2.0-or-later
! fortran_program: matrix products, array expressions, formatted output and a recursion.
module work
contains
  recursive integer function fib(n) result(f)
    integer, intent(in) :: n
    if (n < 2) then
      f = n
    else
      f = fib(n - 1) + fib(n - 2)
    end if
  end function

  subroutine products(total)
    real(8), intent(inout) :: total
    real(8) :: a(160, 160), b(160, 160), c(160, 160)
    call random_number(a)
    call random_number(b)
    c = matmul(a, b) + sin(a) * exp(-b)
    total = total + sum(c)
  end subroutine
end module

program fortran_program
  use work
  real(8) :: total
  character(len=64) :: text
  integer :: i, j, n
  total = 0
  n = 0
  do i = 1, 60
    call products(total)
    n = n + fib(24)
    do j = 1, 3000
      write(text, '(i8, f12.4)') j, total
    end do
  end do
  print *, total, n, text
end program
