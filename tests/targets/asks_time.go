// SPDX-License-Identifier: GPL-2.0-or-later
// asks_time: asks for the time again and again for a second. Go's runtime calls the vDSO for
// it on the stack of the thread, not of the goroutine.
package main

import (
	"fmt"
	"time"
)

//go:noinline
func ask(end time.Time) int {
	asked := 0
	for time.Now().Before(end) {
		asked++
	}
	return asked
}

func main() {
	fmt.Printf("{\"asked\":%d}\n", ask(time.Now().Add(1000*time.Millisecond)))
}
