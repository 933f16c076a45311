package chaos

import (
	"context"
	_ "embed" // for the replacement in package time
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
)

// ownClockActs returns the acts that move the clocks of relays and consumers: of all of them, then only of
// the first of each role.
func (in *injection) ownClockActs() []act { return in.actsOfClocks(own, in.ofAll, in.ofFirst) }

func (in *injection) ofAll(by time.Duration) error { return in.moveOwn(by, true) }

func (in *injection) ofFirst(by time.Duration) error { return in.moveOwn(by, false) }

// moveOwn moves the clocks of relays and consumers, and kills the first process of each role, so that its
// next life begins with the new time. Banks keep the right time, since the driver finds transfers by it.
func (in *injection) moveOwn(by time.Duration, all bool) error {
	for _, p := range in.processes.all {
		first := strings.HasSuffix(p.name, "-1")
		if p.role == roles.Bank || !first && !all {
			continue
		}
		if err := p.setClock(by); err != nil {
			return err
		}
		if first {
			p.kill()
		}
	}
	return nil
}

// environmentClock names a file. It contains the number of seconds by which the clock of a process is off.
const environmentClock = "LEAT_CHAOS_CLOCK"

// movable is the source of a file that is added to package time.
//
//go:embed clock/time.txt
var movable string

// buildMovable builds this program again, with a wall clock that can be moved. A preloaded library cannot
// do that, since Go asks the kernel for the time. Monotonic time is left alone. All processes then run the
// new program.
func (st *stage) buildMovable(ctx context.Context) error {
	info, ok := debug.ReadBuildInfo()
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if !ok || err != nil {
		return errors.Join(errors.New("acts that move the clocks of processes need the go command and the sources"), err)
	}
	dir := filepath.Join(st.clocks, "go")
	packageTime := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(packageTime, "time.go")) //nolint:gosec // Go's
	if err != nil {
		return fmt.Errorf("read package time: %w", err)
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	before, after, ok := strings.Cut(string(source), now)
	if !ok {
		return fmt.Errorf("package time has changed: %s does not contain %q", packageTime, now)
	}
	replaced := map[string]string{}
	err = os.Mkdir(dir, 0o700)
	for name, text := range map[string]string{"time.go": before + now + "\tsec += *shift\n" + after, "shift.go": movable} {
		replaced[filepath.Join(packageTime, name)] = filepath.Join(dir, name)
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	overlay, encoding := json.Marshal(map[string]any{"Replace": replaced})
	file := filepath.Join(dir, "overlay.json")
	if err = errors.Join(err, encoding, os.WriteFile(file, overlay, 0o600)); err != nil {
		return fmt.Errorf("write the overlay of package time: %w", err)
	}
	fmt.Fprintln(st.options.Out, "building the processes with clocks that can be moved")
	st.movable = filepath.Join(dir, "process")
	build := exec.CommandContext(ctx, "go", "build", "-overlay", file, "-o", st.movable, info.Path) //nolint:gosec // ours
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the processes with clocks that can be moved: %w\n%s", err, said)
	}
	return nil
}

// setClock moves the clock of the process by the given amount from the right time.
func (p *process) setClock(by time.Duration) error {
	var seconds [8]byte
	binary.NativeEndian.PutUint64(seconds[:], uint64(int64(by/time.Second))) //nolint:gosec // its bits
	file, err := os.OpenFile(p.clockPath(), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = file.WriteAt(seconds[:], 0) // in place, since the process has mapped the file
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return fmt.Errorf("move the clock of %s: %w", p.name, err)
	}
	return nil
}

func (p *process) clockPath() string { return filepath.Join(p.stage.clocks, p.name) }
