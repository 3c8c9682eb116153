package crash

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// What a worker writes down.
const (
	lineJoined   = "joined"   // an incarnation began
	lineStart    = "start"    // a handler began
	lineEffect   = "effect"   // a handler has done its work, and is about to say so
	lineAccepted = "accepted" // the store took the outcome; the state follows
	lineRefused  = "refused"  // the store refused the outcome
	lineDead     = "dead"     // this worker declared another dead
	lineBack     = "back"     // this worker put a task back
	lineLost     = "lost"     // this worker was declared dead
	lineFenced   = "fenced"   // this worker fenced itself
	linePaused   = "paused"   // the machine let this process wait; the epoch is for how long, in nanoseconds, up to the line's time
)

// line is one thing that happened in a worker.
type line struct {
	kind   string
	at     time.Time
	worker string // incarnation
	task   string
	epoch  int64
	text   string
}

// journal is the log of one process. Each line is one write to a file that is only appended to: what was written before a kill
// is there after it.
type journal struct {
	sink *outside

	mu   sync.Mutex
	file *os.File
}

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the worker's log: %w", err)
	}
	return &journal{file: f}, nil
}

func (j *journal) write(l line) {
	text := fmt.Sprintf("%s\t%d\t%s\t%s\t%d\t%s\n", l.kind, time.Now().UnixNano(), l.worker, l.task, l.epoch, l.text)
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, err := j.file.WriteString(text); err != nil {
		panic(fmt.Errorf("write the worker's log: %w", err)) // without its log a worker proves nothing
	}
}

// tail reads the lines that a log has gained since it was read last.
type tail struct {
	path string
	off  int64
}

func (t *tail) read() ([]line, error) {
	f, err := os.Open(t.path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read a worker's log: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	if _, err := f.Seek(t.off, 0); err != nil {
		return nil, fmt.Errorf("read a worker's log: %w", err)
	}
	var lines []line
	r := bufio.NewReader(f)
	for {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return lines, nil // a line that is not whole yet is read the next time
		}
		t.off += int64(len(text))
		l, err := parse(string(bytes.TrimSuffix(text, []byte("\n"))))
		if err != nil {
			return lines, err
		}
		lines = append(lines, l)
	}
}

func parse(text string) (line, error) {
	f := strings.SplitN(text, "\t", 6)
	if len(f) != 6 {
		return line{}, fmt.Errorf("a worker's log has a line of %d fields: %q", len(f), text)
	}
	at, err1 := strconv.ParseInt(f[1], 10, 64)
	epoch, err2 := strconv.ParseInt(f[4], 10, 64)
	if err1 != nil || err2 != nil {
		return line{}, fmt.Errorf("a worker's log has an odd line: %q", text)
	}
	return line{kind: f[0], at: time.Unix(0, at), worker: f[2], task: f[3], epoch: epoch, text: f[5]}, nil
}
