// SPDX-License-Identifier: GPL-2.0-or-later

// go_garbage: maps, sorting, strings and goroutines; the collector works beside them.
package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
)

//go:noinline
func countWords(rounds int) int {
	counts := map[string]int{}
	for i := 0; i < rounds; i++ {
		counts["word"+fmt.Sprint(i%5000)]++
	}
	return len(counts)
}

//go:noinline
func sortWords(nr int) string {
	words := make([]string, nr)
	for i := range words {
		words[i] = fmt.Sprint((i * 7919) % 100003)
	}
	sort.Strings(words)
	return strings.Join(words[:10], " ")
}

func main() {
	var group sync.WaitGroup
	for worker := 0; worker < 2; worker++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 8; i++ {
				countWords(100000)
				sortWords(30000)
			}
		}()
	}
	group.Wait()
	fmt.Println(sortWords(100))
}
