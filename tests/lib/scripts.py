# SPDX-License-Identifier: GPL-2.0-or-later
"""A second's work for interpreters and compilers: sorting, recursion, texts, tables, calls back
from the runtime, and what is peculiar to each. See programs.py."""

NODE_SORT = """
const numbers = [];
for (let i = 0; i < 700000; i++) numbers.push((i * 7919) % 1000003);
numbers.sort((a, b) => a - b);
const names = numbers.slice(0, 120000).map(n => 'name' + (n * 31 % 65537));
names.sort((a, b) => a < b ? -1 : a > b ? 1 : 0);
console.log(names[7], numbers[99]);
"""

NODE_JSON = """
let sum = 0;
for (let round = 0; round < 4; round++) {
  const rows = [];
  for (let i = 0; i < 40000; i++)
    rows.push({id: i, name: 'row ' + i, tags: ['a', 'b' + i % 7], x: i / 3});
  const revive = (key, value) => key === 'x' ? Math.round(value) : value;
  const again = JSON.parse(JSON.stringify(rows), revive);
  sum += again.reduce((all, row) => all + row.x + row.tags.length, 0);
}
console.log(sum);
"""

NODE_REGEX = """
const words = [];
for (let i = 0; i < 20000; i++)
  words.push('user' + i + '@host' + i % 97 + '.example.org; size=' + i * 3);
let sum = 0;
for (let round = 0; round < 14; round++)
  for (const word of words) {
    const found = /^([a-z]+\\d+)@(host\\d+)\\.(?:example|test)\\.org;\\s*size=(\\d+)$/
      .exec(word);
    sum += found[3].length;
    sum += word.replace(/\\d+/g, digits => '<' + digits.length + '>').split(/[@.;]/).length;
  }
console.log(sum);
"""

NODE_ASYNC = """
const {setImmediate: turn} = require('timers/promises');
async function leaf(n) { let s = 0; for (let i = 0; i < 300; i++) s += Math.sin(i + n); return s; }
async function middle(n) {
  let s = 0;
  for (let i = 0; i < 5; i++) s += await leaf(n + i);
  return s;
}
async function* numbers(n) { for (let i = 0; i < n; i++) yield await middle(i); }
async function main() {
  let sum = 0;
  for (let round = 0; round < 45; round++) {
    for await (const x of numbers(300)) sum += x;
    sum += (await Promise.all(Array.from({length: 300}, (_, i) => middle(i)))).length;
    await turn();
  }
  console.log(sum);
}
main();
"""

NODE_WORKERS = """
const {Worker, isMainThread, parentPort, workerData} = require('worker_threads');
function primes(n) {
  const found = [];
  for (let i = 2; found.length < n; i++) if (found.every(p => p * p > i || i % p)) found.push(i);
  return found.map(String).join(',').length;
}
if (isMainThread) {
  let open = 2;
  for (let i = 0; i < 2; i++)
    new Worker(__filename, {workerData: i}).on('message', m => console.log(m, --open));
} else {
  let sum = 0;
  for (let i = 0; i < 2; i++) sum += primes(4000 + workerData + i);
  const map = new Map();
  for (let i = 0; i < 150000; i++)
    map.set('k' + i % 5000, (map.get('k' + i % 5000) || 0) + i);
  parentPort.postMessage(sum + map.size);
}
"""

NODE_CRYPTO = """
const crypto = require('crypto');
let text = 'x';
for (let i = 0; i < 60000; i++) text = crypto.createHash('sha256').update(text).digest('hex');
for (let i = 0; i < 3; i++)
  text += crypto.pbkdf2Sync('secret', 'salt' + i, 60000, 32, 'sha512').toString('hex');
const {privateKey} = crypto.generateKeyPairSync('ec', {namedCurve: 'P-256'});
for (let i = 0; i < 1500; i++)
  text = crypto.sign('sha256', Buffer.from(text), privateKey).toString('hex');
crypto.scrypt('secret', text, 32, {N: 16384}, (_, key) => console.log(key.toString('hex')));
"""

PYTHON = """
import json, re, threading, hashlib
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
def numbers(n):
    for i in range(n): yield i * 7919 % 1003
class Point:
    def __init__(self, x): self.x = x
    def __lt__(self, other): return self.x < other.x
def work(rounds):
    for _ in range(rounds):
        fib(17)
        sorted(Point(x) for x in numbers(3000))
        json.loads(json.dumps({str(x): [x, x / 3] for x in numbers(3000)}))
        re.sub(r'(\\d+)-(\\w)', lambda m: m[2], ' '.join(f'{x}-a' for x in numbers(2000)))
        hashlib.sha256(b'x' * 200000).hexdigest()
thread = threading.Thread(target=work, args=(50,))
thread.start(); work(50); thread.join()
"""

PERL = """
use strict; use warnings;
sub fib { my $n = shift; return $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
my (%count, $text);
for my $round (1 .. 18) {
  fib(21);
  $count{ $_ * 7919 % 10007 } .= chr(65 + $_ % 26) for 1 .. 120000;
  my @keys = sort { length $count{$a} <=> length $count{$b} or $a <=> $b } keys %count;
  $text = join ' ', map { sprintf '%s=%d', $_, length $count{$_} } @keys;
  $text =~ s/(\\d+)=(\\d+)/$2-$1/g;
}
print length $text, "\\n";
"""

RUBY = """
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
sum = 0
6.times do
  sum += fib(24)
  counts = Hash.new(0)
  120_000.times { |i| counts["k#{i * 7919 % 5003}"] += 1 }
  sum += counts.sort_by { |key, n| [-n, key] }.map { |key, n| key.gsub(/\\d/) { |d| d.succ } }.size
  sum += (1..60_000).lazy.map { |x| x.to_s * 3 }.select { |x| x =~ /77/ }.to_a.size
end
puts sum
"""

RUBY_FIBERS = """
def fib(n) = n < 2 ? n : fib(n - 1) + fib(n - 2)
fibers = Array.new(4) do
  Fiber.new { loop { Fiber.yield fib(16) + [*1..2000].sort_by { |x| x * 7 % 1009 }.size } }
end
sum = 0
900.times { |i| sum += fibers[i % 4].resume; sum += fib(12) }
words = Enumerator.new { |out| 30_000.times { |i| out << "w#{i}" } }
while true
  begin
    sum += words.next.size
  rescue StopIteration
    break
  end
end
puts sum
"""

LUA = """
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
local producer = coroutine.wrap(function()
  while true do coroutine.yield(fib(14)) end
end)
local t, sum = {}, 0
for round = 1, ROUNDS do
  sum = sum + fib(22)
  for i = 1, 30000 do t[i] = (i * 7919) % 10007 end
  table.sort(t, function(a, b) return a < b end)
  local s = string.rep('abc 123 ', 3000):gsub('(%a+) (%d+)', function(a, b) return b .. a end)
  for i = 1, 30 do sum = sum + producer() end
  sum = sum + #s
end
print(sum)
"""

ERLANG = """
F = fun F(N) when N < 2 -> N; F(N) -> F(N - 1) + F(N - 2) end,
Work = fun(Parent) ->
  lists:foreach(fun(I) ->
    F(16),
    L = lists:sort(fun(A, B) -> A < B end, [X * 7919 rem 10007 || X <- lists:seq(1, 4000)]),
    M = maps:from_list([{integer_to_list(X), X} || X <- L]),
    _ = re:replace(lists:flatten(io_lib:format("~p", [maps:size(M) + I])), "[0-9]", "x", [global])
  end, lists:seq(1, 8)),
  _ = [crypto_free || _ <- [erlang:md5(binary:copy(<<"x">>, 1000000)) || _ <- lists:seq(1, 20)]],
  Parent ! done
end,
Self = self(),
[spawn(fun() -> Work(Self) end) || _ <- [1, 2]],
[receive done -> ok end || _ <- [1, 2]],
halt().
"""

GUILE = """
(use-modules (ice-9 regex))
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (numbers n) (map (lambda (i) (modulo (* i 7919) 10007)) (iota n)))
(let loop ((i 0))
  (when (< i 9)
    (fib 25)
    (sort (numbers 20000) <)
    (regexp-substitute/global #f "[0-9]+" (number->string (expt 7 1500)) 'pre "x" 'post)
    (string-length (with-output-to-string (lambda () (write (numbers 8000)))))
    (loop (+ i 1))))
"""

LISP = """
(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(dotimes (i 20)
  (print (fib 27))
  (let ((h (make-hash-table :test 'equal)))
    (dotimes (k 20000) (setf (gethash (format nil "k~d" (mod (* k 7919) 20011)) h) k))
    (sort (loop for k being the hash-keys of h collect k) #'string<)))
"""

PHP = """<?php
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
for ($round = 0; $round < 7; $round++) {
  fib(22);
  $rows = [];
  for ($i = 0; $i < 30000; $i++) $rows[] = ['k' => $i * 7919 % 10007, 'v' => "v$i"];
  usort($rows, fn($a, $b) => $a['k'] <=> $b['k']);
  $text = json_encode($rows);
  $rows = json_decode($text, true);
  $text = preg_replace_callback('/v(\\d)/', fn($m) => $m[1], $text);
}
echo strlen($text), "\\n";
"""

PHP_FIBERS = """<?php
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
$fiber = new Fiber(function () { while (true) Fiber::suspend(fib(20)); });
$sum = $fiber->start();
for ($i = 0; $i < 400; $i++) { $sum += fib(19); $sum += $fiber->resume(); }
echo $sum, "\\n";
"""

JAVA = """
import java.util.*;
import java.util.stream.*;
public class Work {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static int work(int rounds) {
        int sum = 0;
        Map<String, Integer> map = new HashMap<>();
        for (int i = 0; i < rounds; i++) {
            sum += fib(24);
            for (int j = 0; j < 20000; j++) map.merge("x" + j % 5003, 1, Integer::sum);
            sum += IntStream.range(0, 20000).boxed()
                .sorted(Comparator.comparing(x -> x * 7919 % 10007))
                .map(String::valueOf).collect(Collectors.joining(",")).split(",").length;
        }
        return sum + map.size();
    }
    public static void main(String[] arguments) throws Exception {
        Thread thread = new Thread(() -> System.out.println(work(18)));
        thread.start();
        System.out.println(work(18));
        thread.join();
    }
}
"""

CSHARP = """
using System;
using System.Collections.Generic;
using System.Linq;
class Work {
    static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
    static void Main() {
        int sum = 0;
        for (int i = 0; i < 60; i++) {
            sum += Fib(24);
            var map = new Dictionary<string, int>();
            for (int j = 0; j < 15000; j++) map["x" + j % 5003] = j;
            sum += Enumerable.Range(0, 15000).OrderBy(x => x * 7919 % 10007)
                .Sum(x => x.ToString().Length);
            try { if (i % 2 == 0) throw new Exception("x"); }
            catch (Exception e) { sum += e.Message.Length; }
        }
        Console.WriteLine(sum);
    }
}
"""

R_SCRIPT = """
fib <- function(n) if (n < 2) n else fib(n - 1) + fib(n - 2)
sum <- 0
for (i in 1:6) {
  sum <- sum + fib(17)
  x <- sort((1:150000 * 7919) %% 10007)
  m <- matrix(sin(1:40000), 200)
  sum <- sum + sum(m %*% m) + length(unique(sapply(1:8000, function(i) paste0('k', i %% 500))))
  s <- gsub('[0-9]+', 'x', paste(x[1:20000], collapse = ' '))
}
cat(sum, '\\n')
"""

TCL = """
proc fib {n} { expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
proc less {a b} { expr {$a - $b} }
for {set i 0} {$i < 18} {incr i} {
  fib 18
  set l {}
  for {set j 0} {$j < 8000} {incr j} { lappend l [expr {$j * 7919 % 10007}] }
  set s [lsort -command less $l]
  regsub -all {(\\d)(\\d)} [join $l ,] {\\2\\1} text
}
puts [string length $text]
"""

AWK = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
BEGIN {
  for (round = 0; round < 18; round++) {
    fib(21)
    for (i = 0; i < 60000; i++) count[sprintf("k%d", i * 7919 % 5003)]++
    text = ""
    for (key in count) text = text key ":" count[key] " "
    gsub(/[0-9]+:/, "x", text)
    n = split(text, parts, / /)
  }
  print n, length(text)
}
"""

BASH = """
fib() {
  local n=$1
  if ((n < 2)); then R=$n; else fib $((n - 1)); local a=$R; fib $((n - 2)); R=$((a + R)); fi
}
for round in 1 2; do
  fib 14
  declare -A count=()
  for ((i = 0; i < 15000; i++)); do k=k$((i * 7919 % 503)); count[$k]=$((${count[$k]:-0} + 1)); done
  text="${!count[*]}"
  for ((i = 0; i < 400; i++)); do [[ $text =~ k(4[0-9]+) ]] && x=${text//k/y}; done
done
echo ${#text}
"""

SQL = (
    "CREATE TABLE t(k, v); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
    " WHERE i < 450000) INSERT INTO t SELECT i * 7919 % 100003, 'v' || i FROM n;"
    " CREATE INDEX i ON t(k); SELECT count(*) FROM t a JOIN t b ON a.k = b.k WHERE b.v LIKE '%7%';"
    " SELECT k % 97 g, count(*), group_concat(v) FROM t GROUP BY g ORDER BY 2 LIMIT 1;"
)

CPP = """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>
template <int N> struct Chain { static int sum(const std::map<int, std::string> &m) {
    return int(m.size()) + N + Chain<N - 1>::sum(m); } };
template <> struct Chain<0> { static int sum(const std::map<int, std::string> &) { return 0; } };
int main() {
    std::map<int, std::string> counts;
    for (int i = 0; i < 1000; i++) {
        std::ostringstream out;
        out << "word" << i;
        counts[i] = out.str();
    }
    std::vector<std::function<int(int)>> functions;
    for (int i = 0; i < 10; i++) functions.push_back([i](int x) { return x + i; });
    std::vector<std::tuple<int, std::string>> all(counts.begin(), counts.end());
    std::sort(all.begin(), all.end(),
              [](auto &a, auto &b) { return std::get<1>(a) < std::get<1>(b); });
    return functions[3](4) + Chain<150>::sum(counts) + int(all.size());
}
"""


OCAML = """
let rec fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
let () =
  let total = ref 0 in
  for i = 1 to 8 do
    total := !total + fib 30;
    let l = List.init 60000 (fun i -> i * 7919 mod 10007) in
    let sorted = List.sort compare l in
    let table = Hashtbl.create 100 in
    List.iter (fun x -> Hashtbl.replace table (string_of_int x) x) sorted;
    (try if i mod 2 = 0 then raise Not_found with Not_found -> incr total);
    total := !total + Hashtbl.length table
  done;
  print_int !total
"""

HASKELL = """
import qualified Data.Map as Map
fib :: Int -> Int
fib n = if n < 2 then n else fib (n - 1) + fib (n - 2)
main :: IO ()
main = do
  print (fib 33)
  let add i = Map.insertWith (+) (show (i * 7919 `mod` 10007)) i
  let m = foldr add Map.empty [1 .. 250000 :: Int]
  print (Map.size m, sum (Map.elems m))
"""

REDIS = """
for i = 1, 60000 do
  redis.call('set', 'k' .. i % 5000, i)
  redis.call('zadd', 'z', i % 977, i % 3001)
end
return #redis.call('sort', 'z', 'by', 'nosort', 'get', 'k*')
"""
