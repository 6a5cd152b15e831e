// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions of equal code, which a linker folds (--icf=all), and instances of templates. */
extern "C" {
__attribute__((noinline)) int count_pears(int *p)
{
	asm volatile("" ::"r"(p) : "memory");
	return 7 + *p;
}

__attribute__((noinline)) int count_plums(int *p)
{
	asm volatile("" ::"r"(p) : "memory");
	return 7 + *p;
}

__attribute__((noinline)) int count_apples(int *p)
{
	asm volatile("" ::"r"(p) : "memory");
	return 7 + *p;
}
}

template <typename T> __attribute__((noinline)) T twice(T x)
{
	asm volatile("" ::"r"(&x) : "memory");
	return x + x;
}

int main()
{
	int sum = 0, n = 1;

	for (int i = 0; i < 100; i++)
		sum += count_apples(&n);
	for (int i = 0; i < 200; i++)
		sum += count_pears(&n);
	for (int i = 0; i < 300; i++)
		sum += count_plums(&n) + twice(i);
	for (int i = 0; i < 50; i++)
		sum += static_cast<int>(twice(1.5 * i));
	return sum == 1;
}
