// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/python_source.h"
#include "tests/unit/unit.h"

static const char source[] = "import re\n"		      /* 1 */
			     "# def f(): no\n"		      /* 2 */
			     "def first(x):\n"		      /* 3 */
			     "    def f(y):\n"		      /* 4 */
			     "        return y\n"	      /* 5 */
			     "    return f(x)\n"	      /* 6 */
			     "\n"			      /* 7 */
			     "@decorated\n"		      /* 8 */
			     "class Store(Base):\r\n"	      /* 9 */
			     "    def first_of(self): pass\n" /* 10 */
			     "    async  def  get(self):\n"   /* 11 */
			     "\t    pass\n"		      /* 12 */
			     "    class Inner:\n"	      /* 13 */
			     "        def get(self): pass\n"  /* 14 */
			     "if True:\n"		      /* 15 */
			     "    def f(a): pass\n"	      /* 16 */
			     "async def last(): pass";	      /* 17 */

static void expect(const char *name, uint32_t line)
{
	uint32_t found = python_find_line(name, source);

	if (found != line)
		fail_msg("%s: %u, not %u", name, found, line);
}

TEST(python_source, file_is_in_the_name)
{
	assert_string_equal(python_file_of("py::<module>:/srv/my app (copy)/x.py"),
			    "/srv/my app (copy)/x.py");
	assert_string_equal(python_file_of("py::f.<locals>.g:/a:b.py"), "/a:b.py");
	assert_null(python_file_of("py::f:<frozen importlib._bootstrap>"));
	assert_null(python_file_of("py::f:x.py"));
	assert_null(python_file_of("py::f"));
	assert_null(python_file_of("LazyCompile:~f /x.js:3"));
	assert_null(python_file_of(""));
}

TEST(python_source, functions_are_found_where_they_are_defined)
{
	expect("py::<module>:/x.py", 1);
	expect("py::first:/x.py", 3);
	expect("py::first.<locals>.f:/x.py", 4);
	expect("py::first.<locals>.<lambda>:/x.py", 3);
	expect("py::first.<locals>.<listcomp>:/x.py", 3);
	expect("py::Store:/x.py", 9);
	expect("py::Store.first_of:/x.py", 10);
	expect("py::Store.Inner.get:/x.py", 14);
	expect("py::last:/x.py", 17);
	/* The first of that name: nothing tells them apart. */
	expect("py::f:/x.py", 4);
}

TEST(python_source, what_is_not_there_has_no_line)
{
	expect("py::none:/x.py", 0);
	expect("py::firs:/x.py", 0);
	expect("py::first.<locals>.get:/x.py", 0);
	expect("py::Store.last:/x.py", 0);
	expect("py::<lambda>:/x.py", 0);
	expect("py:::/x.py", 0);
	expect("py::first", 0);
	assert_int_equal(python_find_line("py::f:/x.py", ""), 0);
	assert_int_equal(python_find_line("py::f:/x.py", "def"), 0);
	assert_int_equal(python_find_line("py::f:/x.py", "def f"), 1);
}
