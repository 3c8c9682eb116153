package contest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Machine is what the figures were made on.
type Machine struct {
	Cores   int
	CPU     string
	Memory  string
	System  string
	Go      string
	Servers []string
}

func (w *World) look() Machine {
	m := Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
	m.CPU = field("/proc/cpuinfo", "model name")
	var kibi float64
	if _, err := fmt.Sscan(field("/proc/meminfo", "MemTotal"), &kibi); err == nil {
		m.Memory = fmt.Sprintf("%.0f GiB", kibi/(1<<20))
	}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += " " + strings.TrimSpace(string(text))
	}
	if w.postgres != nil {
		m.Servers = append(m.Servers, "PostgreSQL "+w.postgresVersion())
	}
	if w.redis != nil {
		m.Servers = append(m.Servers, fmt.Sprintf("Redis %s", version(w.redis.Do("INFO", "server"))))
	}
	return m
}

func version(info string) string {
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
			return v
		}
	}
	return ""
}

// field is the first value of a name in a file of /proc; empty if there is none.
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// postgresVersion is that of the server; empty if it does not say.
func (w *World) postgresVersion() string {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, w.postgres.URL())
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close(ctx) }()
	text, _, _ := strings.Cut(conn.PgConn().ParameterStatus("server_version"), " ")
	return text
}
