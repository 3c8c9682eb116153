package contest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/outlast-go/outlast/bench/part"
)

// process is a contestant at work.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err *os.File
}

// start gives an order to a new process.
func (w *World) start(ctx context.Context, s Side, o part.Order) (*process, error) {
	program, err := w.program(ctx, s.Program)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("write the order: %w", err)
	}
	p := &process{cmd: exec.CommandContext(ctx, program, "part")}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 1<<20)
	if p.err, err = os.Create(filepath.Join(w.dir, fmt.Sprintf("errors-%d", w.next()))); err != nil {
		return nil, err
	}
	p.cmd.Stderr = p.err
	p.cmd.SysProcAttr = dying()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", s.Title, err)
	}
	return p, p.say(string(line))
}

func (p *process) say(line string) error {
	_, err := fmt.Fprintln(p.in, line)
	return err
}

// hear waits for the next line; false: there are no more.
func (p *process) hear() (string, bool) {
	if !p.out.Scan() {
		return "", false
	}
	return p.out.Text(), true
}

// report waits for the end of the process; its last line is the report.
func (p *process) report() (r part.Report, err error) {
	last := ""
	for line, ok := p.hear(); ok; line, ok = p.hear() {
		last = line
	}
	ended := p.end()
	if json.Unmarshal([]byte(last), &r) != nil {
		text, _ := os.ReadFile(p.err.Name()) // what it says of itself is all there is to say
		return r, fmt.Errorf("it ended without a report: %w\n%s", errors.Join(ended, errors.New(last)), tail(text))
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, ended
}

func tail(text []byte) []byte { return text[max(0, len(text)-2000):] }

// end closes the pipe of the process and waits for it.
func (p *process) end() error {
	_ = p.in.Close() // it may have ended
	defer func() { _ = p.err.Close() }()
	return p.cmd.Wait()
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	_ = p.end()              // it was killed: what else could it say
}

// ask has an order measured by a process of its own.
func (w *World) ask(ctx context.Context, s Side, o part.Order) (part.Report, error) {
	p, err := w.start(ctx, s, o)
	if err != nil {
		return part.Report{}, err
	}
	return p.report()
}
