package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/cmd/leat/daemon"
)

// running is a daemon as a process.
type running struct {
	t        *testing.T
	cmd      *exec.Cmd
	log      *output
	ended    chan struct{}
	url      string
	exitCode int
}

// output is what a process has written so far.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// begin starts leat with args, a daemon that listens at ports of its own.
func (s *session) begin(args ...string) *running {
	s.t.Helper()
	return s.beginAs([]string{os.Getenv(binaryVariable)}, args...)
}

// beginAs is begin by a command of its own.
func (s *session) beginAs(command []string, args ...string) *running {
	s.t.Helper()
	r := s.start(command, args...)
	r.url = "http://" + r.listens("probes")
	return r
}

// start starts a process, and kills it when the test ends.
func (s *session) start(command []string, args ...string) *running {
	s.t.Helper()
	args = append(command[1:len(command):len(command)], args...)
	r := &running{t: s.t, cmd: exec.Command(command[0], args...), log: &output{}, ended: make(chan struct{})}
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = s.env, r.log, r.log
	require.NoError(s.t, r.cmd.Start())
	go func() {
		_ = r.cmd.Wait()
		r.exitCode = r.cmd.ProcessState.ExitCode()
		close(r.ended)
	}()
	s.t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		<-r.ended
		if s.t.Failed() {
			s.t.Logf("leat %q:\n%s", args, r.log)
		}
	})
	return r
}

// listens waits for a listener, and returns its address.
func (r *running) listens(what string) string {
	r.t.Helper()
	line := regexp.MustCompile(`listener=` + what + ` address=(\S+)`)
	var match []string
	r.eventually("listens for "+what, func() bool {
		match = line.FindStringSubmatch(r.log.String())
		return match != nil
	})
	return match[1]
}

// eventually waits until the daemon is as ok says.
func (r *running) eventually(what string, ok func() bool) {
	r.t.Helper()
	require.Eventually(r.t, ok, patience, 50*time.Millisecond, "%s\n%s", what, r.log)
}

// metrics is where Prometheus scrapes, once the daemon listens there.
func (r *running) metrics() string { return "http://" + r.listens("metrics") }

// shows waits until what scraped serves has series.
func (r *running) shows(scraped *running, series string) {
	r.t.Helper()
	var body string
	defer func() {
		if r.t.Failed() {
			r.t.Logf("/metrics:\n%s", body)
		}
	}()
	r.eventually(series, func() bool {
		_, body = scraped.get("/metrics")
		return strings.Contains(body, series)
	})
}

// get returns the status and the body of a path.
func (r *running) get(path string) (int, string) {
	response, err := http.Get(r.url + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

// status returns what /statusz says.
func (r *running) status() (s daemon.Status) {
	_, body := r.get("/statusz")
	_ = json.Unmarshal([]byte(body), &s)
	return s
}

// is waits until a part has a state.
func (r *running) is(state daemon.State, kind, store, group string) daemon.PartStatus {
	r.t.Helper()
	var found daemon.PartStatus
	r.eventually(fmt.Sprintf("%s %s/%s is %s", kind, store, group, state), func() bool {
		for _, p := range r.status().Parts {
			if p.Kind == kind && p.Store == store && p.Group == group && p.State == state {
				found = p
				return true
			}
		}
		return false
	})
	return found
}

// answers waits until a probe answers with code.
func (r *running) answers(path string, code int) {
	r.t.Helper()
	r.eventually(fmt.Sprintf("%s answers %d", path, code), func() bool {
		got, _ := r.get(path)
		return got == code
	})
}

// ends sends a signal, if it is one, and returns the exit status.
func (r *running) ends(signal syscall.Signal) int {
	r.t.Helper()
	if signal != 0 {
		require.NoError(r.t, r.cmd.Process.Signal(signal))
	}
	select {
	case <-r.ended:
	case <-time.After(patience):
		require.FailNow(r.t, "the daemon does not end", r.log.String())
	}
	return r.exitCode
}
