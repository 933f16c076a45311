package testenv

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// envSupervisor marks a process as a supervisor.
const envSupervisor = "LEAT_TESTENV_SUPERVISOR"

// Supervise turns this process into the supervisor of one server, and does not return, if the environment
// variable shows that it was started as one. Programs that use [Start] call it first thing in main; for
// test binaries [Main] calls it.
func Supervise() {
	if os.Getenv(envSupervisor) == "" {
		return
	}
	// A Ctrl-C at the terminal is meant for the run. The run ends, the pipe closes, and then the supervisor
	// stops. The signals are caught and not ignored, since an ignored signal would stay ignored in the
	// server. SIGPIPE comes from a reply to a run that has died.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	if err := superviseOne(os.Stdin, os.Stdout); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// supervisor runs one server for another process.
// See design 18.1.
type supervisor struct {
	plan   plan
	out    *json.Encoder
	cmd    *exec.Cmd
	exited chan error
}

// superviseOne obeys the requests on in until it ends, then stops the server and
// removes its directory.
func superviseOne(in io.Reader, out io.Writer) error {
	requests := json.NewDecoder(in)
	s := &supervisor{out: json.NewEncoder(out)}
	s.reply(event{Name: eventHello})
	if err := requests.Decode(&s.plan); err != nil {
		return fmt.Errorf("testenv: read plan: %w", err)
	}
	defer s.remove()
	if err := s.prepare(); err != nil {
		s.reply(event{Name: eventFailed, Error: err.Error()})

		return err
	}
	s.reply(event{Name: eventPrepared})
	s.obey(requests)
	s.stop()
	for _, argv := range s.plan.Finish {
		_ = s.command(argv).Run()
	}

	return nil
}

// obey handles requests until the other side has gone.
func (s *supervisor) obey(requests *json.Decoder) {
	queue := make(chan request)
	go func() { // ends with the process
		defer close(queue)
		for {
			var r request
			if requests.Decode(&r) != nil {
				return
			}
			queue <- r
		}
	}()
	for {
		select {
		case r, ok := <-queue:
			if !ok {
				return
			}
			s.handle(r)
		case err := <-s.exited:
			s.gone(err)
		}
	}
}

func (s *supervisor) handle(r request) {
	switch {
	case r.Start && s.cmd != nil:
		s.reply(event{Name: eventFailed, Error: "already running"})
	case r.Start:
		if err := s.start(); err != nil {
			s.reply(event{Name: eventFailed, Error: err.Error()})

			return
		}
		s.reply(event{Name: eventStarted, PID: s.cmd.Process.Pid})
	case s.cmd != nil:
		_ = s.cmd.Process.Signal(syscall.Signal(r.Signal))
	}
}

// prepare creates the directory with its files and runs the commands that come before the first
// start.
func (s *supervisor) prepare() error {
	if err := os.MkdirAll(s.plan.Dir, 0o700); err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	for name, content := range s.plan.Files {
		path := filepath.Join(s.plan.Dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("testenv: %w", err)
		}
		if s.plan.User != nil {
			if err := s.plan.User.own(path); err != nil {
				return err
			}
		}
	}
	if s.plan.User != nil {
		if err := s.plan.User.own(s.plan.Dir); err != nil {
			return err
		}
	}
	for _, argv := range s.plan.Prepare {
		cmd := s.command(argv)
		output, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("testenv: %s: %w\n%s", argv[0], err, output)
		}
	}

	return nil
}

func (s *supervisor) command(argv []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = s.plan.Dir
	cmd.Env = append(os.Environ(), s.plan.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: s.plan.User.credential()}

	return cmd
}

func (s *supervisor) start() error {
	log, err := os.OpenFile(filepath.Join(s.plan.Dir, logName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("testenv: %w", err)
	}
	defer func() { _ = log.Close() }()

	cmd := s.command(s.plan.Argv)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("testenv: start %s: %w", s.plan.Argv[0], err)
	}
	exited := make(chan error, 1)
	s.cmd, s.exited = cmd, exited
	go func() { exited <- cmd.Wait() }()

	return nil
}

// gone reports that the server has exited.
func (s *supervisor) gone(err error) {
	s.cmd, s.exited = nil, nil
	e := event{Name: eventExited}
	if err != nil {
		e.Error = err.Error()
	}
	s.reply(e)
}

// stop ends the server, with the gentlest signal first.
func (s *supervisor) stop() {
	if s.cmd == nil {
		return
	}
	for _, step := range append(s.plan.Stop, stopStep{Signal: int(syscall.SIGKILL), Wait: time.Minute}) {
		_ = s.cmd.Process.Signal(syscall.Signal(step.Signal))
		select {
		case err := <-s.exited:
			s.gone(err)

			return
		case <-time.After(step.Wait):
		}
	}
}

// remove deletes the directory. It tries more than once, since a process of the server may still be
// writing its last file.
func (s *supervisor) remove() {
	for range 50 {
		if err := os.RemoveAll(s.plan.Dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return
		}
		<-time.After(100 * time.Millisecond)
	}
}

// reply answers the other side, if it still exists.
func (s *supervisor) reply(e event) { _ = s.out.Encode(e) }
