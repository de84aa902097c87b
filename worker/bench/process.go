package bench

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"headstart/worker/load"
)

// Machine is what the figures were measured on.
type Machine struct {
	OS    string  `json:"os"`
	CPUs  int     `json:"cpus"`
	Load1 float64 `json:"load1"` // over the minute before; negative where it is not known
}

// MachineNow looks at this machine.
func MachineNow() Machine {
	m := Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(), Load1: -1}
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return m
	}
	first, _, _ := strings.Cut(string(text), " ")
	if load1, err := strconv.ParseFloat(first, 64); err == nil {
		m.Load1 = load1
	}
	return m
}

// String is a line about the machine.
func (m Machine) String() string {
	line := fmt.Sprintf("%s, %d processors", m.OS, m.CPUs)
	if m.Load1 >= 0 {
		line += fmt.Sprintf(", load %.1f before it began", m.Load1)
	}
	return line
}

// Process is this process at a moment.
type Process struct {
	At         time.Time     `json:"-"`
	CPU        time.Duration `json:"-"`              // used so far
	LiveMB     float64       `json:"live_mb"`        // heap in use and stacks, garbage included
	ResidentMB float64       `json:"resident_mb"`    // of the operating system; negative where it is not known
	Goroutines int           `json:"goroutines"`     //
	Open       int           `json:"descriptors"`    // negative where it is not known
	PauseTotal time.Duration `json:"-"`              // of the collector, so far
	Collected  uint32        `json:"gc_collections"` // so far
}

const megabyte = 1 << 20

// ProcessNow looks at this process.
func ProcessNow() (Process, error) {
	used, err := load.Used()
	if err != nil {
		return Process{}, err
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Process{
		At: time.Now(), CPU: used, LiveMB: float64(m.HeapInuse+m.StackInuse) / megabyte, ResidentMB: resident(),
		Goroutines: runtime.NumGoroutine(), Open: descriptors(), PauseTotal: time.Duration(m.PauseTotalNs), Collected: m.NumGC,
	}, nil
}

// ProcessAtRest collects the garbage and gives its memory back first.
func ProcessAtRest() (Process, error) {
	debug.FreeOSMemory()
	return ProcessNow()
}

// resident reads Linux's own figure.
func resident() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return -1
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return -1
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return -1
	}
	return float64(pages) * float64(os.Getpagesize()) / megabyte
}

// descriptors counts what the process has open.
func descriptors() int {
	folder, err := os.Open("/proc/self/fd")
	if err != nil {
		return -1
	}
	defer folder.Close() // opened to read: closing it loses nothing
	open, err := folder.Readdirnames(-1)
	if err != nil {
		return -1
	}
	return len(open) - 1 // the folder itself
}
