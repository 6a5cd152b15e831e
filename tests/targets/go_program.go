// SPDX-License-Identifier: GPL-2.0-or-later

// go_program: most time in a method that is called through an interface.
package main

import "fmt"

type worker interface{ work(rounds int) int }

type adder struct{ step int }

//go:noinline
func (a *adder) work(rounds int) int {
	sum := 0
	for i := 0; i < rounds; i++ {
		sum += i * a.step
	}
	return sum
}

func main() {
	var w worker = &adder{3}
	total := 0
	for i := 0; i < 200000; i++ {
		total += w.work(1000)
	}
	fmt.Println(total)
}
