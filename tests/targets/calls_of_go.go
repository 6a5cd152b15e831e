// SPDX-License-Identifier: GPL-2.0-or-later

// calls_of_go: functions with and without a check of the stack, in many goroutines; its own counts.
package main

import (
	"fmt"
	"sync"
	"sync/atomic"
)

var leaf, deep, boxed uint64

//go:noinline
func counted_leaf(x uint64) uint64 {
	atomic.AddUint64(&leaf, 1)
	return x * 3
}

//go:noinline
func counted_deep(depth int) int {
	var room [512]byte

	atomic.AddUint64(&deep, 1)
	room[depth%512] = byte(depth)
	if depth == 0 {
		return int(room[0])
	}
	return counted_deep(depth-1) + int(room[depth%512])
}

//go:noinline
func counted_boxed(value interface{}) string {
	atomic.AddUint64(&boxed, 1)
	return fmt.Sprint(value)
}

func main() {
	var group sync.WaitGroup

	for i := 0; i < 20; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for k := 0; k < 1000; k++ {
				counted_leaf(uint64(k))
			}
			counted_deep(100 + i)
			counted_boxed(i)
		}(i)
	}
	group.Wait()
	fmt.Printf("{\"function\": \"main.counted_leaf\", \"calls\": %d}\n", leaf)
	fmt.Printf("{\"function\": \"main.counted_deep\", \"calls\": %d}\n", deep)
	fmt.Printf("{\"function\": \"main.counted_boxed\", \"calls\": %d}\n", boxed)
}
