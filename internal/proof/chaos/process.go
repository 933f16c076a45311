package chaos

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
	"sync"
	"syscall"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

const (
	// stopTimeout bounds how long a process may take to stop before it is killed.
	stopTimeout = 20 * time.Second
	// restartAfter is the wait before a process that ended is started again.
	restartAfter = 20 * time.Millisecond
)

// process plays a role. It is restarted whenever it ends, until it must end for good.
type process struct {
	name, role string
	stage      *stage
	wire       *wire // nil if the store is a file
	mail       *mail
	exits      chan string // descriptions of how earlier lives have ended

	mu       sync.Mutex
	life     *life
	starts   int
	ended    bool          // no further life may begin
	expected bool          // the end of the current life is not a surprise
	held     chan struct{} // open while no life may begin; nil if one may
	surprise []string
	totals   roles.Totals // of the lives that have ended
	latest   roles.Totals // of the current life
	refused  time.Time    // when the current life last reported that its source is unusable
	age      int64
	group    sync.WaitGroup
}

// life is one run of a process.
type life struct {
	cmd      *exec.Cmd
	commands *commands
	ready    chan struct{}
	works    chan struct{} // closed once the life has had something to do
	gone     chan struct{}
}

// commands sends commands to a life. Several goroutines use it, which an encoder alone does not allow.
// Like the encoder, it sends nothing after the first error.
type commands struct {
	mu sync.Mutex
	to *json.Encoder
}

// send sends a command. It is lost if the process does not read it any more.
func (c *commands) send(command roles.Command) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.to.Encode(command)
}

// open prepares a process and its proxy to the database. It does not start the process.
func (st *stage) open(ctx context.Context, m *mail, name, role string) (*process, error) {
	p := &process{name: name, role: role, stage: st, mail: m, exits: make(chan string, 64)}
	if st.movable != "" {
		if err := p.setClock(0); err != nil {
			return nil, err
		}
	}
	if st.server == nil {
		return p, nil
	}
	var err error
	p.wire, err = openWire(ctx, st.server.HostPort, st.store.isCommit)
	return p, err
}

// settings returns the settings of the process.
func (p *process) settings() (roles.Settings, error) {
	o := p.stage.options
	s := roles.Settings{
		Name: p.name, Role: p.role, Brokers: []string{p.stage.kafka.Address}, Kafka: p.stage.relaysKafka.address(),
		Dir: p.stage.historyDir(), Seed: o.Seed, Rate: o.Rate, Accounts: o.Accounts, Sabotage: o.Sabotage, Store: o.Store, Tail: o.Tail,
	}
	switch p.role {
	case roles.Bank:
		s.Rate = max(1, o.Rate/p.stage.banks())
	case roles.Ledger, roles.Notifier:
		s.Kafka = p.stage.groupsKafka.address()
	}
	if p.stage.redisProxy != nil {
		s.Redis = p.stage.redisProxy.address()
	}
	if p.stage.registryProxy != nil {
		s.Registry = p.stage.registryProxy.address()
	}
	hostPort := ""
	if p.wire != nil {
		hostPort = p.wire.address()
	}
	var err error
	s.Database, err = p.stage.store.address(p.role, p.name, hostPort)
	return s, err
}

// banks returns the number of banks.
func (st *stage) banks() (n int) {
	for _, m := range st.store.roster() {
		if m.role == roles.Bank {
			n++
		}
	}
	return n
}

// run keeps the process alive until it is ended.
func (p *process) run() error {
	if err := p.start(); err != nil {
		return err
	}
	p.group.Go(func() {
		for {
			l := p.current()
			<-l.gone
			if p.over() {
				return
			}
			<-time.After(restartAfter)
			p.waitReleased()
			if p.over() {
				return
			}
			if err := p.start(); err != nil {
				p.surprised(err.Error())
				return
			}
		}
	})
	return nil
}

// start begins a life. It executes this program, or the one whose clock can be moved.
func (p *process) start() error {
	s, err := p.settings()
	if err != nil {
		return err
	}
	environment, err := s.Environment()
	if err != nil {
		return err
	}
	program := p.stage.movable
	if program == "" {
		program, err = os.Executable()
	}
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", p.name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(program) //nolint:noctx,gosec // ourselves, stopped by signals: see end
	cmd.Env = append(os.Environ(), environment)
	if p.stage.movable != "" {
		cmd.Env = append(cmd.Env, environmentClock+"="+p.clockPath())
	}
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must reach only the driver, which then stops the processes
	in, err := cmd.StdinPipe()                            // also shows the process that the driver lives; Wait closes it
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	l := &life{cmd: cmd, commands: &commands{to: json.NewEncoder(in)}, ready: make(chan struct{}), works: make(chan struct{}), gone: make(chan struct{})}
	p.mu.Lock()
	p.life, p.expected, p.refused = l, p.ended, time.Time{}
	p.starts++
	ended := p.ended
	p.mu.Unlock()
	p.group.Go(func() { p.attend(l, out) })
	if ended { // end was called meanwhile
		_ = cmd.Process.Kill()
	}
	return nil
}

func (p *process) logPath() string { return filepath.Join(p.stage.logDir(), p.name+".log") }

// attend handles the reports of a life until it is over.
func (p *process) attend(l *life, out io.Reader) {
	defer close(l.gone)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var r roles.Report
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue // the incomplete last line of a process that was killed
		}
		p.hear(l, r)
	}
	how := describe(l.cmd.Wait())
	p.mu.Lock()
	expected := p.expected
	p.totals = add(p.totals, p.latest)
	p.latest = roles.Totals{}
	p.mu.Unlock()
	if !expected {
		p.surprised(how)
	}
	select {
	case p.exits <- how:
	default:
	}
}

// exitedWell is the description of a process that has stopped cleanly.
const exitedWell = "exit status 0"

// describe returns how a process has ended.
func describe(err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return exitedWell
	case errors.As(err, &exit):
		return exit.String()
	default:
		return err.Error()
	}
}

// hear handles a report.
func (p *process) hear(l *life, r roles.Report) {
	switch r.Said {
	case roles.SaidReady:
		close(l.ready)
	case roles.SaidTotals:
		p.mu.Lock()
		p.latest = r.Totals
		p.age = max(p.age, r.Totals.Age)
		p.mu.Unlock()
		if !isClosed(l.works) && r.Inflight+r.Totals.Effects+r.Totals.Repeats > 0 {
			close(l.works)
		}
	case roles.SaidRefused:
		p.mu.Lock()
		p.refused = time.Now()
		p.mu.Unlock()
	default:
		p.mail.deliver(r)
	}
}

func add(a, b roles.Totals) roles.Totals {
	return roles.Totals{
		Enqueued: a.Enqueued + b.Enqueued, Settled: a.Settled + b.Settled, Effects: a.Effects + b.Effects,
		Repeats: a.Repeats + b.Repeats,
	}
}

// current returns the newest life.
func (p *process) current() *life {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life
}

// hold ends the current life cleanly. No other life begins until release.
func (p *process) hold() {
	p.mu.Lock()
	p.held, p.expected = make(chan struct{}), true
	l := p.life
	p.mu.Unlock()
	p.signal(syscall.SIGTERM)
	p.signal(contSignal)
	select {
	case <-l.gone:
	case <-time.After(stopTimeout):
		_ = l.cmd.Process.Kill()
		<-l.gone
	}
}

// release allows lives to begin again.
func (p *process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held != nil {
		close(p.held)
		p.held = nil
	}
}

// waitReleased waits while the process is held.
func (p *process) waitReleased() {
	p.mu.Lock()
	held := p.held
	p.mu.Unlock()
	if held != nil {
		<-held
	}
}

func (p *process) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// expect notes that the end of the current life is not a surprise.
func (p *process) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = true
}

// unexpect notes that l goes on after all.
func (p *process) unexpect(l *life) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.life == l {
		p.expected = p.ended
	}
}

// kill kills the current life, if there is one.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = true
	_ = p.life.cmd.Process.Signal(killSignal)
}

// drainExits discards the recorded ends of earlier lives.
func (p *process) drainExits() {
	for {
		select {
		case <-p.exits:
		default:
			return
		}
	}
}

// surprised notes an unexpected end.
func (p *process) surprised(how string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.surprise = append(p.surprise, how)
}

// tell sends a command. It is lost if the process has ended.
func (p *process) tell(c roles.Command) { p.current().commands.send(c) }

// signal sends a signal to the current life.
func (p *process) signal(s syscall.Signal) { _ = p.current().cmd.Process.Signal(s) }

// end stops the process for good and waits for its end.
func (p *process) end() {
	p.mu.Lock()
	p.ended, p.expected = true, true
	l := p.life
	p.mu.Unlock()
	p.release()
	if l != nil {
		p.signal(syscall.SIGCONT)
		p.signal(syscall.SIGTERM)
		select {
		case <-l.gone:
		case <-time.After(stopTimeout):
			p.surprised("did not stop within " + stopTimeout.String())
			_ = l.cmd.Process.Kill()
		}
	}
	p.group.Wait()
	if p.wire != nil {
		p.wire.close()
	}
}
