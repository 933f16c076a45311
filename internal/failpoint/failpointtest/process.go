package failpointtest

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/leat-go/leat/internal/failpoint"
)

// EnvPoints arms points of a whole process that a test starts: point=action@hit, separated by
// commas. The action is error, panic or exit; @hit may be left out and means every hit.
//
//	LEAT_FAILPOINTS=relay/after_fetch=exit@3,relay/before_renew=error
const EnvPoints = "LEAT_FAILPOINTS"

// ExitStatus is the status of a process that a point of the environment has
// ended.
const ExitStatus = 86

// ErrBadPoints is returned for a value of [EnvPoints] that cannot be read.
var ErrBadPoints = errors.New("failpoint: cannot read " + EnvPoints)

// processRegistry is the registry of code whose context carries none, read from
// the environment once.
//
//nolint:gochecknoglobals // one process, one environment
var processRegistry = sync.OnceValues(func() (*Registry, error) { return Parse(os.Getenv(EnvPoints)) })

// Parse reads a registry from text in the form of [EnvPoints]. Unknown names and
// actions are refused.
func Parse(text string) (*Registry, error) {
	r := &Registry{}
	for entry := range strings.SplitSeq(text, ",") {
		if entry == "" {
			continue
		}
		if err := r.parseEntry(entry); err != nil {
			return nil, fmt.Errorf("%w: %q: %w", ErrBadPoints, entry, err)
		}
	}

	return r, nil
}

func (r *Registry) parseEntry(entry string) error {
	name, what, ok := strings.Cut(entry, "=")
	if !ok {
		return errors.New("no action")
	}
	kind, at, counted := strings.Cut(what, "@")
	action, err := actionOf(kind)
	if err != nil || !counted {
		return errors.Join(err, r.Enable(failpoint.Name(name), action))
	}
	hit, err := strconv.Atoi(at)
	if err != nil {
		return fmt.Errorf("hit: %w", err)
	}

	return r.EnableAt(failpoint.Name(name), hit, action)
}

func actionOf(kind string) (Action, error) {
	switch kind {
	case "error":
		return Error(nil), nil
	case "panic":
		return Panic(), nil
	case "exit":
		return Exit(ExitStatus), nil
	default:
		return Action{}, fmt.Errorf("action %q is not error, panic or exit", kind)
	}
}
