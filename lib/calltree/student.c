// SPDX-License-Identifier: GPL-2.0-or-later
/* Student's t-distribution. */
#include "calltree/student.h"

#include <assert.h>
#include <math.h>

#define MOST_STEPS 200
#define PRECISION  1e-12
#define SMALLEST   1e-300

static double not_zero(double value)
{
	return fabs(value) < SMALLEST ? SMALLEST : value;
}

/* The continued fraction of the incomplete beta function, by Lentz' method (DLMF 8.17.22). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), product = d;

	for (int m = 1; m <= MOST_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));

		d = 1 / not_zero(1 + even * d);
		c = not_zero(1 + even / c);
		product *= d * c;
		d = 1 / not_zero(1 + odd * d);
		c = not_zero(1 + odd / c);
		product *= d * c;
		if (fabs(d * c - 1) < PRECISION)
			break;
	}
	return product;
}

/* The regularized incomplete beta function. */
static double beta(double a, double b, double x)
{
	double front;
	int sign;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) +
		    b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_tail(double t, double freedom)
{
	if (isinf(freedom))
		return erfc(fabs(t) / sqrt(2));
	return beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_quantile(double tail, double freedom)
{
	double low = 0, high = 1;

	assert(tail > 0 && tail < 1);
	while (student_tail(high, freedom) > tail)
		high *= 2;
	for (int i = 0; i < MOST_STEPS && high - low > PRECISION * high; i++) {
		double middle = (low + high) / 2;

		if (student_tail(middle, freedom) > tail)
			low = middle;
		else
			high = middle;
	}
	return high;
}
