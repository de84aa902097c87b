package load

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// Where a limit was found, for the log.
const (
	FromV2      = "cgroup v2"
	FromV1      = "cgroup v1"
	FromRuntime = "runtime"
)

// CPUs is how many processors the process may keep busy: the quota of its
// cgroup (v2's cpu.max, else v1's), and never more than procs, which is
// GOMAXPROCS: Go runs on no more. root is the file system from / on. What is
// missing, unlimited or unreadable limits nothing.
func CPUs(root fs.FS, procs int) (cpus float64, from string) {
	groups := groupsOf(root)
	quota, from := smallest(root, "sys/fs/cgroup", groups.v2, quotaV2), FromV2
	if quota == 0 {
		from = FromV1
		for _, mount := range []string{"cpu", "cpu,cpuacct", "cpuacct,cpu"} {
			if quota = smallest(root, path.Join("sys/fs/cgroup", mount), groups.v1, quotaV1); quota > 0 {
				break
			}
		}
	}
	if quota == 0 || quota >= float64(procs) {
		return float64(procs), FromRuntime
	}
	return quota, from
}

// groups are the process's places in the hierarchies: "/" where it sees its own as the root.
type groups struct{ v1, v2 string }

// groupsOf reads lines such as "0::/a/b" (v2) and "4:cpu,cpuacct:/a/b" (v1).
func groupsOf(root fs.FS) groups {
	found := groups{v1: "/", v2: "/"}
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return found
	}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if parts[0] == "0" && parts[1] == "" {
			found.v2 = parts[2]
		}
		for controller := range strings.SplitSeq(parts[1], ",") {
			if controller == "cpu" {
				found.v1 = parts[2]
			}
		}
	}
	return found
}

// smallest is the tightest quota from the group up to the root of the
// hierarchy, for each of them binds; 0 is none. A container that is shown its
// host's path has only the root mounted: what is not there is passed over.
func smallest(root fs.FS, mount, group string, quota func(fs.FS, string) float64) float64 {
	best := 0.0
	for at := path.Join("/", group); ; at = path.Dir(at) {
		if q := quota(root, path.Join(mount, at)); q > 0 && (best == 0 || q < best) {
			best = q
		}
		if at == "/" {
			return best
		}
	}
}

// quotaV2 reads "150000 100000" or "max 100000": microseconds in each period.
func quotaV2(root fs.FS, dir string) float64 {
	fields := strings.Fields(read(root, path.Join(dir, "cpu.max")))
	if len(fields) != 2 {
		return 0
	}
	return ratio(fields[0], fields[1])
}

// quotaV1 reads the same from two files; a quota of -1 is none.
func quotaV1(root fs.FS, dir string) float64 {
	return ratio(read(root, path.Join(dir, "cpu.cfs_quota_us")), read(root, path.Join(dir, "cpu.cfs_period_us")))
}

func ratio(quota, period string) float64 {
	q, err := strconv.ParseInt(quota, 10, 64)
	if err != nil || q <= 0 {
		return 0
	}
	p, err := strconv.ParseInt(period, 10, 64)
	if err != nil || p <= 0 {
		return 0
	}
	return float64(q) / float64(p)
}

func read(root fs.FS, name string) string {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
