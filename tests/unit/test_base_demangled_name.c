// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "base/demangled_name.h"
#include "tests/unit/unit.h"

struct expectation {
	const char *name, *shortened;
};

static void check(const struct expectation *rows, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		char *shortened = demangled_name_shorten(rows[i].name);

		assert_string_equal(shortened, rows[i].shortened);
		free(shortened);
	}
}

#define CHECK(...)                                                                                 \
	do {                                                                                       \
		static const struct expectation rows_[] = {__VA_ARGS__};                           \
		check(rows_, ARRAY_SIZE(rows_));                                                   \
	} while (0)

TEST(demangled_name, c_names_stay)
{
	CHECK({"main", "main"}, {"foo.part.0", "foo.part.0"}, {"malloc@plt", "malloc@plt"},
	      {"operator", "operator"}, {"operator_name", "operator_name"}, {"", ""},
	      {"__memmove_avx_unaligned_erms", "__memmove_avx_unaligned_erms"});
}

TEST(demangled_name, parameters_and_templates_go)
{
	CHECK({"foo(int)", "foo"}, {"foo(int) const", "foo"}, {"A::foo() const &", "A::foo"},
	      {"std::vector<int, std::allocator<int> >::push_back(int const&)",
	       "std::vector::push_back"},
	      {"std::map<int, std::pair<int, (E)3> >::~map()", "std::map::~map"},
	      {"A<(1>2)>::f()", "A::f"}, {"foo<int>", "foo"},
	      {"foo(int) [clone .cold]", "foo [clone .cold]"},
	      {"std::__cxx11::to_string[abi:cxx11](int)", "std::__cxx11::to_string[abi:cxx11]"});
}

TEST(demangled_name, return_types_go)
{
	CHECK({"void foo<int>(int)", "foo"}, {"unsigned long ns::foo<int>(int)", "ns::foo"},
	      {"char const* foo<int>(int)", "foo"},
	      {"std::enable_if<true, int>::type ns::f<int>(int)", "ns::f"},
	      {"decltype (g(declval<int>())) ns::f<int>(int)", "ns::f"},
	      {"decltype(auto) ns::f<int>(int)", "ns::f"}, {"void (*choose(int))(char)", "choose"},
	      {"void (*choose<int>(int))(char)", "choose"},
	      {"int (&ns::array<3>())[3]", "ns::array"});
}

TEST(demangled_name, types_of_results_are_found)
{
	static const struct expectation rows[] = {
		{"int foldme<int>(int)", "foldme<int>(int)"},
		{"std::vector<int, std::allocator<int> > ns::make<int>(int)", "ns::make<int>(int)"},
		{"unsigned long f<int>(int) [clone .cold]", "f<int>(int) [clone .cold]"},
		{"auto& ns::at<3ul>()", "ns::at<3ul>()"},
		{"bool operator< <int>(A<int> const&)", "operator< <int>(A<int> const&)"},
		{"A::operator unsigned long() const", "A::operator unsigned long() const"},
		{"f(int)", "f(int)"},
		{"main", "main"},
		{"a name with spaces", "a name with spaces"},
		{"<T as core::fmt::Debug>::fmt", "<T as core::fmt::Debug>::fmt"},
		{"non-virtual thunk to A::f()", "non-virtual thunk to A::f()"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(demangled_name_without_result(rows[i].name), rows[i].shortened);
}

TEST(demangled_name, operators_stay)
{
	CHECK({"A::operator()(int) const", "A::operator()"},
	      {"operator<(A const&, A const&)", "operator<"},
	      {"std::ostream& operator<< <std::char_traits<char> >(std::ostream&, char const*)",
	       "operator<<"},
	      {"bool operator< <int>(A<int>, A<int>)", "operator<"},
	      {"A::operator->() const", "A::operator->"},
	      {"A::operator<=>(A const&) const", "A::operator<=>"},
	      {"operator new(unsigned long)", "operator new"},
	      {"operator delete[](void*)", "operator delete[]"},
	      {"A::operator bool() const", "A::operator bool"},
	      {"A::operator std::vector<int>() const", "A::operator std::vector"},
	      {"A::operator[](unsigned long)", "A::operator[]"},
	      {"operator\"\" _km(long double)", "operator\"\" _km"},
	      {"void A::operator()<int>(int) const", "A::operator()"},
	      {"A::operator,(A&)", "A::operator,"});
}

TEST(demangled_name, local_scopes_stay)
{
	CHECK({"(anonymous namespace)::foo(int)", "(anonymous namespace)::foo"},
	      {"ns::(anonymous namespace)::A<int>::foo()", "ns::(anonymous namespace)::A::foo"},
	      {"void (anonymous namespace)::foo<int>(int)", "(anonymous namespace)::foo"},
	      {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()"},
	      {"foo(int)::Local::run()", "foo::Local::run"},
	      {"A::foo(int) const::{lambda()#2}::operator()() const",
	       "A::foo::{lambda()#2}::operator()"},
	      {"auto ns::f<int>()::{lambda(auto:1)#1}::operator()<int>(int) const",
	       "ns::f::{lambda(auto:1)#1}::operator()"});
}

TEST(demangled_name, function_arguments)
{
	CHECK({"std::function<void (int)>::operator()(int) const", "std::function::operator()"},
	      {"std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke(std::_Any_data "
	       "const&)",
	       "std::_Function_handler::_M_invoke"},
	      {"run(std::function<int (char const*, void (*)(int))>)", "run"},
	      {"qsort_like(void*, int (*)(void const*, void const*))", "qsort_like"});
}

TEST(demangled_name, descriptions_stay)
{
	CHECK({"non-virtual thunk to B::f(int)", "non-virtual thunk to B::f"},
	      {"guard variable for f()::x", "guard variable for f::x"});
}

TEST(demangled_name, rust)
{
	CHECK({"core::ptr::drop_in_place<alloc::string::String>", "core::ptr::drop_in_place"},
	      {"core::ptr::drop_in_place::<alloc::string::String>", "core::ptr::drop_in_place"},
	      {"demo::work::{{closure}}", "demo::work::{{closure}}"},
	      {"demo::work::{closure#0}", "demo::work::{closure#0}"},
	      {"demo::work::h0123456789abcdef", "demo::work"},
	      {"<alloc::vec::Vec<T,A> as core::ops::deref::Deref>::deref",
	       "<alloc::vec::Vec as core::ops::deref::Deref>::deref"},
	      {"core::fmt::num::<impl core::fmt::Display for u32>::fmt",
	       "core::fmt::num::<impl core::fmt::Display for u32>::fmt"},
	      {"<demo::Point<f64>>::length", "<demo::Point>::length"},
	      {"<fn(u8) -> u32 as demo::Call<u8>>::call::<u8>",
	       "<fn(u8) -> u32 as demo::Call>::call"},
	      {"<[u8]>::len", "<[u8]>::len"},
	      {"core::ops::function::FnOnce::call_once{{vtable.shim}}",
	       "core::ops::function::FnOnce::call_once{{vtable.shim}}"});
}

TEST(demangled_name, go_d_and_jit)
{
	CHECK({"main.(*T).Method", "main.(*T).Method"}, {"main.main.func1", "main.main.func1"},
	      {"main.Map[go.shape.int]", "main.Map[go.shape.int]"},
	      {"demo.map!(int).map(int[])", "demo.map.map"}, {"demo.main()", "demo.main"},
	      {"demo.C.bar() immutable", "demo.C.bar"}, {"demo.C.f(int) inout const", "demo.C.f"},
	      {"demo.R!(int[]).R.front() shared const.next()", "demo.R.R.front.next"},
	      {"LazyCompile:*fib /tmp/x.js:1", "LazyCompile:*fib /tmp/x.js:1"},
	      {"py::<module>:/tmp/x.py", "py::<module>:/tmp/x.py"},
	      {"py::f.<locals>.g:/tmp/x.py", "py::f.<locals>.g:/tmp/x.py"});
}

TEST(demangled_name, brackets_that_do_not_match_stay)
{
	CHECK({"foo<int", "foo<int"}, {"foo(int", "foo(int"}, {"a{b", "a{b"}, {"(", "("},
	      {"(*)", "(*)"}, {"void (*", "void (*"}, {">x", ">x"}, {"()", "()"});
}
