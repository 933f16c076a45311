package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// errUnsupervised is returned if the program did not turn into a supervisor when it was started as one.
var errUnsupervised = errors.New(
	"testenv: main must call testenv.Supervise first, or TestMain testenv.Main, before a server can be started")

// process is a server that runs under a supervisor. The supervisor is this program, executed again with
// its standard input connected to this process. When this process ends, for whatever reason, the kernel
// closes its end and the supervisor cleans up.
type process struct {
	plan     plan
	cmd      *exec.Cmd
	in       io.WriteCloser
	requests *json.Encoder
	replies  chan event
	reader   sync.WaitGroup
	ending   atomic.Bool // the server was asked to end

	mu   sync.Mutex
	pid  int
	gone chan struct{} // closed while the server is not running
}

// launch starts a supervisor and makes it carry out the preparations of the plan.
func launch(ctx context.Context, p plan) (*process, error) {
	if os.Getenv(envSupervisor) != "" {
		return nil, errUnsupervised
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envSupervisor+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("testenv: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("testenv: start supervisor: %w", err)
	}
	proc := &process{
		plan: p, cmd: cmd, in: in, requests: json.NewEncoder(in), replies: make(chan event, 8), gone: make(chan struct{}),
	}
	close(proc.gone)
	proc.reader.Go(func() { proc.read(out) })
	if err := proc.prepare(ctx); err != nil {
		return nil, errors.Join(err, proc.close(ctx))
	}

	return proc, nil
}

// prepare greets the supervisor and sends it the plan.
func (p *process) prepare(ctx context.Context) error {
	if err := p.await(ctx, eventHello); err != nil {
		return errors.Join(errUnsupervised, err)
	}
	if err := p.requests.Encode(p.plan); err != nil {
		return fmt.Errorf("testenv: send plan: %w", err)
	}

	return p.await(ctx, eventPrepared)
}

// read forwards the supervisor's messages, except for the report of the server's exit, which can come at
// any time.
func (p *process) read(out io.Reader) {
	defer close(p.replies)
	events := json.NewDecoder(out)
	for {
		var e event
		if events.Decode(&e) != nil {
			_, _ = io.Copy(io.Discard, out)
			p.left()

			return
		}
		if e.Name == eventExited {
			if !p.ending.Load() {
				// This is printed, since the tests that are running report only that they cannot connect.
				fmt.Fprintf(os.Stderr, "testenv: %s has ended by itself (%s)\n%s\n", p.plan.Argv[0], e.Error, p.tail(crashTail))
			}
			p.left()

			continue
		}
		if e.Name == eventStarted {
			p.entered(e.PID)
		}
		p.replies <- e
	}
}

func (p *process) entered(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid, p.gone = pid, make(chan struct{})
}

func (p *process) left() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		p.pid = 0
		close(p.gone)
	}
}

// await returns the next reply, which must be the expected one.
func (p *process) await(ctx context.Context, name string) error {
	select {
	case e, ok := <-p.replies:
		if !ok {
			return fmt.Errorf("testenv: supervisor ended before %q", name)
		}
		if e.Name != name {
			return fmt.Errorf("testenv: supervisor: %s %s", e.Name, e.Error)
		}

		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start starts the server, for the first time or again, without waiting until it answers.
func (p *process) start(ctx context.Context) error {
	p.ending.Store(false)
	if err := p.requests.Encode(request{Start: true}); err != nil {
		return fmt.Errorf("testenv: supervisor: %w", err)
	}

	return p.await(ctx, eventStarted)
}

// signal sends the server a signal. It waits until SIGSTOP has stopped the server, which would otherwise
// answer a little longer.
func (p *process) signal(sig syscall.Signal) error {
	if sig != syscall.SIGSTOP && sig != syscall.SIGCONT {
		p.ending.Store(true)
	}
	if err := p.requests.Encode(request{Signal: int(sig)}); err != nil {
		return fmt.Errorf("testenv: supervisor: %w", err)
	}
	if sig != syscall.SIGSTOP {
		return nil
	}
	p.mu.Lock()
	pid := p.pid
	p.mu.Unlock()
	for end := time.Now().Add(time.Minute); !stopped(pid); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			return fmt.Errorf("testenv: %s did not stop for SIGSTOP", p.plan.Argv[0])
		}
	}

	return nil
}

// stopped reports whether all threads of a process are stopped. It also returns true if the process does
// not run, or the system has no /proc.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		state := stat[bytes.LastIndexByte(stat, ')')+1:]
		if err == nil && !bytes.HasPrefix(state, []byte(" T")) {
			return false
		}
	}

	return true
}

// end sends the server a signal and waits until it has exited.
func (p *process) end(ctx context.Context, sig syscall.Signal) error {
	if err := p.signal(sig); err != nil {
		return err
	}
	select {
	case <-p.exited():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("testenv: %s did not stop: %w", p.plan.Argv[0], ctx.Err())
	}
}

// exited returns a channel that is closed while the server is not running.
func (p *process) exited() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.gone
}

// close stops the server, removes its directory and waits for the supervisor.
func (p *process) close(ctx context.Context) error {
	p.ending.Store(true)
	err := p.in.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.reader.Wait()
		_ = p.cmd.Wait() // its status only repeats what a reply has reported already
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		_ = p.cmd.Process.Kill()
		<-done

		return fmt.Errorf("testenv: supervisor of %s did not end: %w", p.plan.Argv[0], ctx.Err())
	}
}

// How many bytes of a server's output an error shows, and how many a crash report, which may have a
// backtrace.
const (
	errorTail = 2000
	crashTail = 12_000
)

// tail returns the end of the server's output, at most the given number of bytes.
func (p *process) tail(most int) string {
	b, err := os.ReadFile(filepath.Join(p.plan.Dir, logName))
	if err != nil {
		return ""
	}

	return string(b[max(0, len(b)-most):])
}

// closeTimeout bounds the stop of one server.
const closeTimeout = 45 * time.Second

// logName is the name of the file with a server's output in its directory.
const logName = "server.log"

// plan describes how to run a server. It is sent to the supervisor as JSON.
type plan struct {
	// Dir belongs to the server and is removed at the end.
	Dir string
	// User is the user that the server runs as, nil for that of this process.
	User *account
	// Files are written into Dir before anything is run.
	Files map[string]string
	// Prepare are commands that run once before the first start.
	Prepare [][]string
	// Argv is the command line of the server, which stays in the foreground.
	Argv []string
	// Env is added to the environment.
	Env []string
	// Finish are commands that run after the server's end. Their failures are ignored.
	Finish [][]string
	// Stop are the signals that end the server, the gentlest first. SIGKILL follows automatically.
	Stop []stopStep
}

// stopStep is a signal and the time that it has to take effect.
type stopStep struct {
	Signal int
	Wait   time.Duration
}

// request asks the supervisor to start the server or to send it a signal.
type request struct {
	Start  bool `json:",omitempty"`
	Signal int  `json:",omitempty"`
}

// event is a message of the supervisor.
type event struct {
	Name  string
	PID   int    `json:",omitempty"`
	Error string `json:",omitempty"`
}

const (
	eventHello    = "leat-supervisor"
	eventPrepared = "prepared"
	eventStarted  = "started"
	eventFailed   = "failed"
	eventExited   = "exited"
)

// account is a user that a server runs as.
type account struct {
	UID, GID uint32
}

// unprivileged returns the account for a server that refuses to run as root. It is nil, for the account of
// this process, unless this process runs as root.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil is a valid account: our own
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return parseAccount(u)
		}
	}

	return nil, fmt.Errorf("%w: databases refuse root, and there is no user postgres or nobody", ErrUnavailable)
}

func parseAccount(u *user.User) (*account, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("testenv: user %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("testenv: user %s: %w", u.Username, err)
	}

	return &account{UID: uint32(uid), GID: uint32(gid)}, nil
}

// credential returns the account in the form that the kernel requires.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}

	return &syscall.Credential{Uid: a.UID, Gid: a.GID}
}

// own makes the account the owner of a file or directory.
func (a *account) own(path string) error {
	if err := os.Chown(path, int(a.UID), int(a.GID)); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}

	return nil
}
