package main

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
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// stopTimeout bounds how long a service may take to stop before it is killed.
const stopTimeout = 20 * time.Second

// process is one run of one service.
type process struct {
	name    string
	cmd     *exec.Cmd
	reports chan report
	exited  chan struct{}
	err     error       // of the exit, after exited is closed
	ending  atomic.Bool // we know that it ends
}

// crew starts services and sees to it that all end. A service that fails on its
// own ends the demo.
type crew struct {
	dir  string
	fail context.CancelCauseFunc

	mu  sync.Mutex
	all []*process
}

// start runs a service in a process of its own: this program, executed again.
func (c *crew) start(name, role string, s settings) (*process, error) {
	s.Role = role
	environment, err := s.environment()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(c.logPath(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()

	cmd := exec.Command(self) //nolint:noctx,gosec // ourselves, stopped by signals: see stop
	cmd.Env = append(os.Environ(), environment)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the demo, which then stops us
	if _, err := cmd.StdinPipe(); err != nil {            // the lifeline, closed by Wait
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{name: name, cmd: cmd, reports: make(chan report, 16), exited: make(chan struct{})}
	c.mu.Lock()
	c.all = append(c.all, p)
	c.mu.Unlock()
	go c.watch(p, out)
	return p, nil
}

// watch reads what p reports until it ends.
func (c *crew) watch(p *process, out io.Reader) {
	defer close(p.exited)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue
		}
		select {
		case p.reports <- r:
		default: // nobody listens any more
		}
	}
	p.err = p.cmd.Wait()
	if p.err != nil && !p.ending.Load() {
		c.fail(fmt.Errorf("%s failed: %w\n%s", p.name, p.err, c.logTail(p.name)))
	}
}

// await waits until p reports what is wanted.
func (p *process) await(ctx context.Context, wanted func(report) bool) error {
	for {
		select {
		case r := <-p.reports:
			if wanted(r) {
				return nil
			}
		case <-p.exited:
			return fmt.Errorf("%s has ended: %w", p.name, errors.Join(p.err, context.Cause(ctx)))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func leads(r report) bool { return r.Leading }

func isReady(r report) bool { return r.Ready }

func wasCalm(r report) bool { return r.Calm }

// kill ends p as a power cut would.
func (p *process) kill() error {
	p.ending.Store(true)
	err := p.cmd.Process.Kill()
	<-p.exited
	return err
}

// stop asks p to end and waits for it.
func (p *process) stop() error {
	p.ending.Store(true)
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.exited:
		return p.err
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("%s does not stop within %s", p.name, stopTimeout), p.kill())
	}
}

// stopAll ends everything that still runs. Errors are of no interest any more.
func (c *crew) stopAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var group sync.WaitGroup
	for _, p := range c.all {
		select {
		case <-p.exited:
		default:
			group.Go(func() { _ = p.stop() })
		}
	}
	group.Wait()
}

func (c *crew) logPath(name string) string { return filepath.Join(c.dir, name+".log") }

// logTail returns the last lines of a service's log.
func (c *crew) logTail(name string) string {
	const most = 15
	raw, err := os.ReadFile(c.logPath(name))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
