// SPDX-License-Identifier: GPL-2.0-or-later

// cgo_callers: C code called by two functions in Go, two parts of the time for one, one for the
// other. It runs on the thread's own stack, its callers on the goroutine's.
package main

/*
#include <math.h>
static double in_c(int n) { double s = 0; for (int i = 0; i < n; i++) s += cos(i); return s; }
#cgo LDFLAGS: -lm
*/
import "C"
import "fmt"

//go:noinline
func handlerTwo(n int) float64 { return float64(C.in_c(C.int(n))) }

//go:noinline
func handlerOne(n int) float64 { return float64(C.in_c(C.int(n))) }

func main() {
	sum := 0.0
	for i := 0; i < 400; i++ {
		sum += handlerTwo(120000)
		sum += handlerOne(60000)
	}
	fmt.Println(sum)
}
