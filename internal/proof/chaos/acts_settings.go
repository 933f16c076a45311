package chaos

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/wait"
)

// change is a setting that is changed for all new sessions. word is its name in errors.
type change struct {
	name, word string
	set, reset func(context.Context) error
}

// underSettingWithin is how long the system may take to work under a changed setting, or a process to
// report why it does not.
const underSettingWithin = 15 * time.Second

// settingsChanged returns an act that makes one change after the other, and makes all processes reconnect.
// All of them must go on, or report the problem and go on when the change is undone.
func (in *injection) settingsChanged(all ...change) func(context.Context, *fault) error {
	return func(ctx context.Context, f *fault) error {
		var refused []string
		for _, c := range all {
			said := in.listen(c.word)
			if err := in.connectAgain(ctx, c.set); err != nil {
				return err
			}
			if !in.works(ctx) {
				refused = append(refused, c.name)
				if !said() {
					in.stood("under %s: what does not go on does not say why", c.name)
				}
			}
			if err := in.connectAgain(ctx, c.reset); err != nil {
				return err
			}
			if !in.flows(ctx, goOnWithin) {
				in.stood("%s was changed back: no transfer has arrived within %s", c.name, goOnWithin)
			}
		}
		f.consequence = "all has gone on"
		if len(refused) > 0 {
			f.consequence += ", after a refusal under " + strings.Join(refused, ", ")
		}
		return nil
	}
}

// connectAgain makes a change and ends all sessions. It counts as a separate fault, since it may be the
// second one within the act that interrupts the delivery of a record.
func (in *injection) connectAgain(ctx context.Context, change func(context.Context) error) error {
	if err := change(ctx); err != nil {
		return err
	}
	f := in.tally.begin("settings", "changed", "sessions")
	defer in.tally.end(f)
	return in.ground().disconnect(ctx)
}

// works reports whether transfers pass and records that can never be sent are set aside and
// dropped.
func (in *injection) works(ctx context.Context) bool {
	if !in.flows(ctx, underSettingWithin) || in.enqueueKind(ctx, 1, roles.KindTooLarge, underSettingWithin) != nil {
		return false
	}
	left := in.unsent(roles.KeyOf(roles.KindTooLarge))
	for end := time.Now().Add(underSettingWithin); time.Now().Before(end); wait.Full(ctx, 100*time.Millisecond) {
		_ = in.stage.store.dropParked(ctx) // the operator does it less often; errors are reported there
		if n, err := left(ctx); err == nil && n == 0 {
			return true
		}
	}
	return false
}

// listen returns a function that reports whether a process has logged one of the words since listen was
// called.
func (in *injection) listen(words ...string) func() bool {
	from := map[*process]int{}
	for _, p := range in.processes.all {
		from[p] = len(p.written())
	}
	return func() bool {
		for _, p := range in.processes.all {
			since := strings.ToLower(string(p.written()[from[p]:]))
			for _, word := range words {
				if strings.Contains(since, word) {
					return true
				}
			}
		}
		return false
	}
}

// written returns the process's log.
func (p *process) written() []byte {
	text, err := os.ReadFile(p.logPath())
	if err != nil { // there is no log yet
		return nil
	}
	return text
}
