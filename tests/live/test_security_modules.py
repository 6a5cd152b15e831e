# SPDX-License-Identifier: GPL-2.0-or-later
"""What Yama, AppArmor and SELinux forbid is said with what to do about it, and harms no process."""

import json
import os
import shutil
import subprocess

from live import LiveCase
from paths import PROFC
from profc import Recording
from targets import Running, build, need

BY_ITSELF = True  # what Yama forbids, it forbids to all

SCOPE = "/proc/sys/kernel/yama/ptrace_scope"
PROFILES = """
profile profc-test-docker flags=(attach_disconnected,mediate_deleted) {
  network, capability, file, umount,
  signal (receive) peer=unconfined,
  signal (send, receive) peer=profc-test-docker,
  deny /proc/* w,
  deny /proc/{[^1-9],[^1-9][^0-9],[^1-9s][^0-9y][^0-9s],[^1-9][^0-9][^0-9][^0-9]*}/** w,
  deny /proc/sys/[^k]** w,
  deny /proc/sys/kernel/{?,??,[^s][^h][^m]**} w,
  deny /proc/sysrq-trigger rwklx,
  deny mount,
  deny /sys/[^f]*/** wklx,
  deny /sys/kernel/security/** rwklx,
  ptrace (trace, read, tracedby, readby) peer=profc-test-docker,
}
profile profc-test-service { network, capability, file, signal, }
profile profc-test-mute { network, capability, file, ptrace, signal (receive) peer=unconfined, }
profile profc-test-listless { network, capability, file, ptrace, signal, deny /proc/*/task/ r, }
profile profc-test-blind { network, capability, file, ptrace, signal, deny /proc/*/maps r, }
profile profc-test-before {
  network, capability, file, signal, change_profile,
  ptrace (trace, read, tracedby, readby) peer=profc-test-before,
  @{changing} px -> profc-test-service,
}
"""
# A policy that knows one permission: profc may not use it in one domain, nor upon another one.
INITIAL = """kernel security unlabeled fs file file_labels init any_socket port netif netmsg node igmp_packet
icmp_socket tcp_socket sysctl_modprobe sysctl sysctl_fs sysctl_kernel sysctl_net sysctl_net_unix sysctl_vm
sysctl_dev kmod policy scmp_packet devnull""".split()
POLICY = f"""(handleunknown allow) (mls false)
{"".join(f"(sid {name}) (sidcontext {name} first)" for name in INITIAL)} (sidorder ({" ".join(INITIAL)}))
(class process (ptrace dyntransition transition)) (classorder (process))
(sensitivity s0) (sensitivityorder (s0))
(user any_u) (role any_r) (role object_r) (userrole any_u any_r) (userlevel any_u (s0)) (userrange any_u ((s0) (s0)))
(type base_t) (type secret_t) (type service_t)
(roletype any_r base_t) (roletype any_r secret_t) (roletype any_r service_t) (roletype object_r base_t)
(context first (any_u any_r base_t ((s0) (s0))))
(allow base_t self (process (ptrace dyntransition)))
(allow base_t secret_t (process (dyntransition)))
(allow base_t service_t (process (ptrace dyntransition)))
"""
# By samples alone; with counts and memory, for which code is changed.
WAYS = ((), ("--count", "^progress_main$", "--mem=1"))
# In an emulated machine a stop takes milliseconds.
FAST = ("-F", "1000", "--max-overhead", "0")


class SecurityModules(LiveCase):
    def tried(self, *arguments, stdin=subprocess.DEVNULL, **popen):
        return subprocess.run([self.profiler, *map(str, arguments)], check=False, text=True, timeout=300,
                              stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **popen)

    def patiently(self, *arguments, **who):
        """Again, where a thread had no CPU to come to its stop in time."""
        for _ in range(4):
            done = self.tried(*arguments, **who)
            if "does not stop" not in done.stderr and "be sampled in time" not in done.stderr:
                break
        self.assertEqual(done.returncode, 0, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def run_profc(self, *arguments, status=0, **popen):
        done = self.tried(*arguments, **popen)
        self.assertEqual(done.returncode, status, f"{arguments}\n{done.stdout}{done.stderr}")
        return done

    def records(self, **who):
        """It records a command in both ways, which runs to its end."""
        for number, way in enumerate(WAYS):
            path, ran = self.path(f"recorded-{number}.data"), self.path(f"ran-{number}")
            self.run_profc("record", *FAST, *way, "-o", path, "--", "sh", "-c",
                           f"sleep 1 | {self.program} {self.path('by-record')} 1; echo >{ran}", **who)
            self.assertTrue(os.path.exists(ran), way)
            self.assertTrue(Recording(path).rows("-m", "wall"), way)

    def attaches(self, target, **who):
        """It attaches in both ways to the process, which goes on."""
        for number, way in enumerate(WAYS):
            path = self.path(f"attached-{number}.data")
            self.patiently("attach", *FAST, *way, "-p", target.pid, "-d", "1s", "-o", path, **who)
            self.assertTrue(Recording(path).rows("-m", "wall"), way)
            self.assertUntouched(target.pid)
        self.assertIn("progress_main", self.patiently("dump", "-p", target.pid, **who).stdout)

    def refuses_to_record(self, words, **who):
        """And does not run the command."""
        ran = self.path("ran")
        for way in WAYS:
            done = self.run_profc("record", *way, "-o", self.path("x.data"), "--", "sh", "-c",
                                  f"echo >{ran}", status=125, **who)
            self.assertRegex(done.stderr, words)
            self.assertFalse(os.path.exists(ran), way)

    def refuses_to_attach(self, target, words, **who):
        for what in (("attach", "-d", "1s", "-o", self.path("x.data"), *way) for way in WAYS):
            done = self.run_profc(*what, "-p", target.pid, status=1, **who)
            self.assertRegex(done.stderr, words)
            self.assertUntouched(target.pid)
        self.assertRegex(self.run_profc("dump", "-p", target.pid, status=1, **who).stderr, words)
        said = self.run_profc("doctor", "-p", target.pid, status=1, **who).stdout
        self.assertRegex(said, "(?m)^FAIL  " + words)
        self.assertUntouched(target.pid)

    def setUp(self):
        super().setUp()
        self.user = self.ordinary_user()
        self.program, self.profiler = self.public(build("progressing")), self.public(PROFC)
        os.chmod(self.directory, 0o777)

    def running(self, **who):
        """It leaves one of two CPUs to profc."""
        target = Running([self.program, self.path("counters"), "1"], **who)
        self.addCleanup(target.__exit__)
        target.wait_ready()
        return target


class Yama(SecurityModules):
    def setUp(self):
        if not os.path.exists(SCOPE):
            self.skipTest("this kernel has no Yama")
        super().setUp()
        with open(SCOPE, encoding="ascii") as file:
            self.former = file.read()

    def set_scope(self, scope):
        def write(text):
            with open(SCOPE, "w", encoding="ascii") as file:
                file.write(text)
        write(scope)
        if scope != "3":
            self.addCleanup(write, self.former)

    def test_scope_0_lets_trace_what_one_owns(self):
        self.set_scope("0")
        target = self.running(**self.user)
        self.records(**self.user)
        self.attaches(target, **self.user)
        self.assertIn("may attach to processes of this user", self.run_profc("doctor", **self.user).stdout)

    def test_scope_1_lets_trace_descendants(self):
        self.set_scope("1")
        target = self.running(**self.user)
        self.records(**self.user)
        self.refuses_to_attach(target, r"Yama .*\n.*hint: .*ptrace_scope is 1: start .* with `profc record`",
                               **self.user)
        said = self.run_profc("doctor", **self.user).stdout
        self.assertIn("warn  record works, attach does not: kernel.yama.ptrace_scope is 1", said)
        self.attaches(target)

    def test_orphans_are_descendants_too(self):
        self.set_scope("1")
        path = self.path("descendants.data")
        done = self.run_profc("record", *FAST, "-o", path, "--", "sh", "-c", "(setsid sleep 1 &); sleep 2",
                              **self.user)
        self.assertNotIn("may not be traced", done.stderr)
        self.assertGreater(len(Recording(path).rows("--by", "pid", "-m", "wall")), 1)

    def test_scope_2_lets_root_trace(self):
        self.set_scope("2")
        target = self.running(**self.user)
        words = r"Yama .*\n.*hint: .*ptrace_scope is 2: run profc as root"
        self.refuses_to_record(words, **self.user)
        self.refuses_to_attach(target, words, **self.user)
        self.records()
        self.attaches(target)

    def test_scope_3_lets_nobody_trace(self):
        """It stays until the next boot."""
        if "PROFC_TEST_DISPOSABLE" not in os.environ:
            self.skipTest("this machine is for more than this test")
        self.set_scope("3")
        target = self.running()
        words = r"Yama .*\n.*hint: .*ptrace_scope is 3: .* until the next boot"
        self.refuses_to_record(words)
        self.refuses_to_attach(target, words)


class AppArmor(SecurityModules):
    """Profiles that confine profc, as that of Docker does."""

    def setUp(self):
        if not os.path.exists("/sys/kernel/security/apparmor/.load"):
            self.skipTest("this kernel has no AppArmor, or securityfs is not mounted")
        super().setUp()
        parser = shutil.which("apparmor_parser") or need("/usr/sbin/apparmor_parser")
        path = self.path("profiles")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"@{{changing}}={self.path('changing')}\n{PROFILES}")
        subprocess.run([parser, "-r", path], check=True)
        self.addCleanup(subprocess.run, [parser, "-R", path], check=True)

    @staticmethod
    def confined(profile):
        def confine():
            with open("/proc/self/attr/exec", "w", encoding="ascii") as file:
                file.write(f"exec {profile}")
        return {"preexec_fn": confine}

    def test_a_container_traces_what_is_in_it(self):
        docker = self.confined("profc-test-docker")
        self.records(**docker)
        self.attaches(self.running(**docker), **docker)
        self.assertIn("\nprofiling works here", self.run_profc("doctor", **docker).stdout)

    def test_a_container_does_not_trace_the_host(self):
        words = (r"AppArmor does not let profc trace process \d+\n *hint: the profile profc-test-docker .*"
                 r"ptrace \(trace, read\) peer=unconfined,")
        self.refuses_to_attach(self.running(), words, **self.confined("profc-test-docker"))

    def test_a_profile_without_a_rule_for_tracing(self):
        service = self.confined("profc-test-service")
        words = r"AppArmor does not let profc trace .*\n *hint: the profile profc-test-service confines profc"
        self.refuses_to_record(words, **service)
        self.refuses_to_attach(self.running(), words, **service)

    def test_a_profile_without_a_rule_for_signals(self):
        mute = self.confined("profc-test-mute")
        self.records(**mute)
        self.attaches(self.running(**mute), **mute)
        self.assertIn("\nprofiling works here", self.run_profc("doctor", **mute).stdout)

    def test_a_profile_that_hides_threads_or_mappings(self):
        target = self.running()
        for profile, file in ("profc-test-listless", "task"), ("profc-test-blind", "maps"):
            words = rf"AppArmor does not let profc read /proc/\d+/{file}\n *hint: the profile {profile} .*{file}"
            self.refuses_to_attach(target, words, **self.confined(profile))
            self.refuses_to_record(words.replace(r"\n *", r"\n"), **self.confined(profile))

    def test_a_command_that_changes_to_a_profile_that_may_not_be_traced(self):
        """It runs as without profc, also below a shell, and profc says why it has no stacks."""
        program = self.path("changing")
        shutil.copy(self.program, program)
        os.chmod(program, 0o755)
        for way in WAYS:
            for above in ([], ["sh", "-c", '"$@"; exit $?', "sh"]):
                with self.subTest(way=way, above=above), \
                        subprocess.Popen(["sleep", "1"], stdout=subprocess.PIPE) as nap:
                    done = self.tried("record", *FAST, *way, "-o", self.path("x.data"), "--", *above, program,
                                      self.path("counters"), "1", stdin=nap.stdout,
                                      **self.confined("profc-test-before"))
                    self.assertIn(done.returncode, (0, 125), done.stderr)
                    self.assertGreater(json.loads(done.stdout.splitlines()[-1])["rounds"], 0)
                    self.assertRegex(done.stderr, r"changing \(pid \d+\) may not be traced")
                    self.assertRegex(done.stderr, "hint: the AppArmor profile profc-test-before confines profc: .*"
                                     r"ptrace \(trace, read\).*ptrace \(tracedby, readby\)")

    def test_a_target_whose_profile_allows_nothing(self):
        """Who is not confined traces it all the same."""
        self.attaches(self.running(**self.confined("profc-test-service")))


class SELinux(SecurityModules):
    """Domains of processes; the machine has been booted with it, and has no policy."""

    def setUp(self):
        if "PROFC_TEST_DISPOSABLE" not in os.environ or not os.path.exists("/sys/fs/selinux"):
            self.skipTest("this machine is for more than this test, or has no SELinux")
        super().setUp()
        source, policy = self.path("policy.cil"), self.path("policy")
        with open(source, "w", encoding="ascii") as file:
            file.write(POLICY)
        subprocess.run([need("secilc"), "-c", "31", "-o", policy, "-f", os.devnull, source], check=True)
        if not os.path.exists("/sys/fs/selinux/load"):
            subprocess.run(["mount", "-t", "selinuxfs", "selinuxfs", "/sys/fs/selinux"], check=True)
        with open(policy, "rb") as text, open("/sys/fs/selinux/load", "wb", buffering=0) as load:
            load.write(text.read())
        self.enforce("1")
        self.addCleanup(self.enforce, "0")

    @staticmethod
    def enforce(whether):
        with open("/sys/fs/selinux/enforce", "w", encoding="ascii") as file:
            file.write(whether)

    @staticmethod
    def in_domain(domain):
        def enter():
            with open("/proc/self/attr/current", "w", encoding="ascii") as file:
                file.write(f"any_u:any_r:{domain}")
        return {"preexec_fn": enter}

    def test_what_the_policy_allows(self):
        self.records()
        self.attaches(self.running(**self.in_domain("service_t")))

    def test_what_it_denies(self):
        words = r"SELinux does not let profc trace process \d+\n *hint: profc runs in the context any_u:any_r:base_t, " \
                r"the process in any_u:any_r:secret_t: `ausearch"
        self.refuses_to_attach(self.running(**self.in_domain("secret_t")), words)

    def test_a_domain_that_may_trace_nothing(self):
        words = r"SELinux does not let profc trace .*\nhint: profc runs in the context any_u:any_r:service_t"
        self.refuses_to_record(words, **self.in_domain("service_t"))
