# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/install-deps, with package managers that only note what they are asked for."""

import os
import shutil
import subprocess

from live import LiveCase
from paths import ROOT

SCRIPT = os.path.join(ROOT, "scripts", "install-deps")
NEEDED = ("sh", "echo", "id", "grep", "cat", "chmod", "rm")
MANAGERS = ("apt-get", "dnf", "pacman", "zypper", "apk")
NOTHING_INSTALLED = {"apt-get": "dpkg-query", "dnf": "rpm", "zypper": "rpm"}

# Notes its arguments; fails where $REFUSED, a word, is among them.
MANAGER = """#!/bin/sh
echo "$*" >>"$NOTES"
case " $* " in *" install "* | *" add "* | *" -S "*)
	case " $* " in *" $REFUSED "*) exit 1 ;; esac ;;
-T | *" info "* | *" -T "*) exit 1 ;;
esac
"""


class InstallDeps(LiveCase):
    def program(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def machine(self, manager, user=0):
        """A PATH with one package manager and next to nothing installed."""
        self.program(manager, MANAGER)
        self.program("env", '#!/bin/sh\nshift\nexec "$@"\n')
        if manager in NOTHING_INSTALLED:
            self.program(NOTHING_INSTALLED[manager], "#!/bin/sh\nexit 1\n")
        for name in NEEDED:
            if not os.path.lexists(self.path(name)):
                os.symlink(shutil.which(name), self.path(name))
        os.unlink(self.path("id"))
        self.program("id", f"#!/bin/sh\necho {user}\n")

    def run_script(self, *arguments, status=0, refused="none"):
        notes = self.path("notes")
        with open(notes, "w", encoding="utf-8"):
            pass
        done = subprocess.run(
            [self.path("sh"), SCRIPT, *arguments], check=False, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={"PATH": self.directory, "NOTES": notes, "REFUSED": refused,
                 "POLICY_RC_D": self.path("policy-rc.d")},
        )
        self.assertEqual(done.returncode, status, done.stderr)
        with open(notes, encoding="utf-8") as file:
            return done.stderr, file.read().splitlines()

    def test_each_manager_is_asked_for_all_groups(self):
        for manager in MANAGERS:
            with self.subTest(manager=manager):
                self.machine(manager)
                groups = ("build", "demo", "check", "programs-quick", "programs", "bench")
                said, asked = self.run_script(*groups)
                self.assertIn(f"install-deps: {manager}: installing gcc make", said)
                self.assertIn(" gcc make ", asked[-1])
                for package in ("ruby", "erlang", "guile", "heaptrack"):
                    self.assertIn(f" {package}", asked[-1])
                os.unlink(self.path(manager))

    def test_saying_only_asks_for_nothing(self):
        self.machine("apk")
        said, asked = self.run_script("-n", "build")
        self.assertIn("installing gcc", said)
        self.assertFalse([line for line in asked if "add" in line])

    def test_what_only_tests_want_may_be_unknown(self):
        self.machine("zypper")
        said, asked = self.run_script("build", "programs-quick", refused="redis")
        self.assertIn("what needs it is left out: redis\n", said)
        self.assertTrue([line for line in asked if line.endswith(" mold")])

    def test_without_a_library_it_fails_and_names_it(self):
        self.machine("dnf")
        said, _ = self.run_script("build", "check", status=1, refused="elfutils-devel")
        self.assertIn("install-deps: dnf could not install elfutils-devel\nhint: ", said)

    def test_needs_root_or_sudo(self):
        self.machine("apt-get", user=1000)
        said, asked = self.run_script("build", status=1)
        self.assertIn("needs root, and sudo does not help\nhint: as root: ", said)
        self.assertEqual(asked, [])
        self.program("sudo", '#!/bin/sh\necho "sudo $*" >>"$NOTES"\n'
                     '[ "$1" = -n ] && exit 0\nexec "$@"\n')
        self.assertTrue(any("sudo env DEBIAN" in line for line in self.run_script("build")[1]))

    def test_who_may_not_install_is_told_what_is_missing_and_goes_on(self):
        self.machine("apt-get", user=1000)
        self.program("sudo", '#!/bin/sh\necho "sudo $*" >>"$NOTES"\nexit 1\n')
        said, asked = self.run_script("check")
        self.assertIn("not installed, as that needs root; what needs it is skipped: g++ ", said)
        self.assertEqual(asked, ["sudo -n true"])

    def test_services_are_not_started_and_the_policy_is_taken_back(self):
        self.machine("apt-get")
        self.program("apt-get", MANAGER + '[ -e "$POLICY_RC_D" ] && echo policy >>"$NOTES"\n')
        self.assertEqual(self.run_script("programs-quick")[1][-1], "policy")
        self.assertFalse(os.path.exists(self.path("policy-rc.d")))
        self.program("policy-rc.d", "#!/bin/sh\n")
        self.run_script("programs-quick")
        self.assertTrue(os.path.exists(self.path("policy-rc.d")))

    def test_check_asks_for_few_packages_and_no_service(self):
        for manager in MANAGERS:
            with self.subTest(manager=manager):
                self.machine(manager)
                said, _ = self.run_script("-n", "check")
                self.assertLessEqual(len(said.split("installing ")[1].split()), 30)
                for package in ("clang", "redis", "rust", "golang"):
                    self.assertNotIn(package, said)
                os.unlink(self.path(manager))

    def test_wrong_usage(self):
        self.machine("apk")
        self.assertIn("which group?", self.run_script(status=1)[0])
        self.assertIn("no group of packages 'all'", self.run_script("all", status=1)[0])
        os.unlink(self.path("apk"))
        self.assertIn("no package manager that I know", self.run_script("build", status=1)[0])
