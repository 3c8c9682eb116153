package part

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// clock reads the time and the CPU times at the beginning of a window.
type clock struct {
	at          time.Time
	own, server time.Duration
	pid         int
}

func start(server int) clock {
	return clock{at: time.Now(), own: OwnCPU(), server: TreeCPU(server), pid: server}
}

// report makes the report of a window that ends now.
func (c clock) report(tasks int, values map[string]float64) Report {
	r := Report{Values: values, Tasks: tasks, CPU: -1, ServerCPU: -1}
	if tasks == 0 {
		return r
	}
	if own := OwnCPU(); own > 0 {
		r.CPU = micros(own-c.own) / float64(tasks)
	}
	if server := TreeCPU(c.pid); server > 0 {
		r.ServerCPU = micros(server-c.server) / float64(tasks)
	}
	return r
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// tick is the unit of times in /proc, which is the same on all machines that Linux runs Go on.
const tick = time.Second / 100

// TreeCPU is the CPU time of a process, of its children that live and of those that have ended. 0: it cannot be told.
func TreeCPU(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	sum := stat(pid, 4)
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return 0
	}
	for _, path := range children {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for _, child := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				sum += stat(n, 2)
			}
		}
	}
	return sum
}

// stat adds up the first fields of the CPU times of a process: its own user and system time, then those of its ended children.
func stat(pid, fields int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(text), ") ")
	list := strings.Fields(rest)
	if !ok || len(list) < 15 {
		return 0
	}
	var sum time.Duration
	for _, field := range list[11 : 11+fields] {
		n, err := strconv.Atoi(field)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * tick
	}
	return sum
}

// Memory is the resident memory of this process in KiB; negative if it cannot be told.
func Memory() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return -1
	}
	var size, resident int
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return -1
	}
	return float64(resident*os.Getpagesize()) / 1024
}
