package load_test

import (
	"testing"
	"testing/fstest"

	"headstart/worker/load"
)

func tree(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestCPUs(t *testing.T) {
	t.Parallel()
	const own = "proc/self/cgroup"
	tests := []struct {
		name  string
		files map[string]string
		procs int
		want  float64
		from  string
	}{
		{"nothing to read", nil, 4, 4, load.FromRuntime},
		{"v2 in a container", map[string]string{own: "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 8, 1.5, load.FromV2},
		{"v2 below one processor", map[string]string{own: "0::/\n", "sys/fs/cgroup/cpu.max": "50000 100000"}, 2, 0.5, load.FromV2},
		{"v2 without a limit", map[string]string{own: "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 8, 8, load.FromRuntime},
		{"v2 above what Go uses", map[string]string{own: "0::/\n", "sys/fs/cgroup/cpu.max": "800000 100000\n"}, 2, 2, load.FromRuntime},
		{"v2 of a unit: the tightest above it binds", map[string]string{
			own:                                  "0::/system.slice/headstart.service\n",
			"sys/fs/cgroup/cpu.max":              "max 100000",
			"sys/fs/cgroup/system.slice/cpu.max": "200000 100000",
			"sys/fs/cgroup/system.slice/headstart.service/cpu.max": "400000 100000",
		}, 16, 2, load.FromV2},
		{"v2 shown the host's path, its own group mounted as the root", map[string]string{
			own: "0::/kubepods.slice/pod1/abc\n", "sys/fs/cgroup/cpu.max": "300000 100000",
		}, 16, 3, load.FromV2},
		{"v1", map[string]string{
			own: "5:memory:/m\n4:cpu,cpuacct:/docker/abc\n",
			"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us":  "250000\n",
			"sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n",
		}, 8, 2.5, load.FromV1},
		{"v1 mounted as cpu, beside an empty v2", map[string]string{
			own:                                   "2:cpuacct:/\n1:cpu:/\n0::/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "100000",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "50000",
		}, 8, 2, load.FromV1},
		{"v1 without a limit", map[string]string{
			own:                                   "1:cpu:/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "-1",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
		}, 3, 3, load.FromRuntime},
		{"rubbish", map[string]string{
			own:                                   "what\n::\n0::relative/../..\n",
			"sys/fs/cgroup/cpu.max":               "lots of it",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "1e3",
			"sys/fs/cgroup/cpu/cpu.cfs_period_us": "0",
		}, 2, 2, load.FromRuntime},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, from := load.CPUs(tree(tt.files), tt.procs)
			if got != tt.want || from != tt.from {
				t.Fatalf("got %v from %s, want %v from %s", got, from, tt.want, tt.from)
			}
		})
	}
}
