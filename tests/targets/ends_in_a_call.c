// SPDX-License-Identifier: GPL-2.0-or-later
/* outer() ends with a jump to work(), if it is optimized: it is not in the stack of that. */
#define ROUNDS 2000

__attribute__((noinline)) int work(int x)
{
	volatile int sum = 0;

	for (int i = 0; i < 200000; i++)
		sum += i * x;
	return sum;
}

__attribute__((noinline)) int outer(int x)
{
	return work(x + 1);
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < ROUNDS; i++)
		sum += outer(i);
	return sum == 42;
}
