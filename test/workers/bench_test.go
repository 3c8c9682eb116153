package workers_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/outlast-go/outlast/cmd/outlast/engine"
	"github.com/outlast-go/outlast/kernel"
)

const (
	callers = 64 // submit at the same time
	rounds  = 5  // of each side, in turn: what else the machine does hits both
)

// BenchmarkSubmitOverHTTP measures a daemon under 64 connections that submit one task per request and, in turn with it and on the same server, a
// kernel in this process with 64 callers. Of the rounds of each the median counts; ratio is the first rate by the second. The clients are as lean as
// can be, as they share the machine with the daemon: bytes that are made before, on connections that stay.
func BenchmarkSubmitOverHTTP(b *testing.B) {
	for _, name := range []string{"sqlite", "postgres", "redis"} {
		b.Run(name, func(b *testing.B) {
			url := engines[name](b)
			p := begin(b, url)
			if name == "sqlite" {
				url = engines[name](b) // a namespace has a file of its own
			}
			st, err := engine.Open(b.Context(), url, engine.Options{Namespace: p.space + "k"})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = st.Close() }()
			k, err := kernel.New(st, kernel.Config{})
			if err != nil {
				b.Fatal(err)
			}
			defer k.Close()
			lines := p.lines(callers)
			n := max(b.N/rounds, 20*callers)
			var over, within []float64
			b.ResetTimer()
			for range rounds {
				over = append(over, crowd(b, n, func(i int) error { return lines[i].submit() }))
				within = append(within, crowd(b, n, func(int) error {
					_, err := k.Submit(b.Context(), kernel.Spec{Kind: "k", Queue: "nobody", Args: []byte("1")})
					return err
				}))
			}
			b.ReportMetric(median(over), "http/s")
			b.ReportMetric(median(within), "kernel/s")
			b.ReportMetric(median(over)/median(within), "ratio")
		})
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// crowd lets all callers do something n times in all, and returns how often that was in a second.
func crowd(b *testing.B, n int, do func(caller int) error) float64 {
	b.Helper()
	begun := time.Now()
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			for range n / callers {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	return float64(n/callers*callers) / time.Since(begun).Seconds()
}

// line is a connection that submits.
type line struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

// lines opens connections to the daemon.
func (p *place) lines(n int) (all []*line) {
	p.Helper()
	host := strings.TrimPrefix(p.url, "http://")
	const body = `{"kind":"k","queue":"nobody","args":1}`
	request := fmt.Sprintf("POST /v1/tasks HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
		host, p.token, len(body), body)
	for range n {
		conn, err := (&net.Dialer{}).DialContext(p.Context(), "tcp", host)
		if err != nil {
			p.Fatal(err)
		}
		p.Cleanup(func() { _ = conn.Close() })
		all = append(all, &line{conn, bufio.NewReader(conn), []byte(request)})
	}
	return all
}

// submit sends the request, and reads the answer to its end.
func (l *line) submit() error {
	if _, err := l.conn.Write(l.out); err != nil {
		return err
	}
	status, length := "", 0
	for {
		text, err := l.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(text) <= 2 {
			break
		}
		if status == "" {
			status = string(text[9:12])
		} else if value, ok := strings.CutPrefix(string(text), "Content-Length: "); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		}
	}
	if _, err := l.in.Discard(length); err != nil {
		return err
	}
	if status != strconv.Itoa(http.StatusCreated) {
		return fmt.Errorf("submit = %s", status)
	}
	return nil
}
