package chaos

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/leat-go/leat/internal/proof/chaos/roles"
	"github.com/leat-go/leat/internal/proof/report"
	"github.com/leat-go/leat/internal/wait"
)

// processes are the processes of a run.
type processes struct {
	all []*process
}

// roster lists the processes to run.
func (st *stage) roster() []member {
	all := st.store.roster()
	if st.options.Sabotage != roles.IDCursor {
		return all
	}
	first := true
	return slices.DeleteFunc(all, func(m member) bool { // two relays by number would send everything twice
		if m.role != roles.Relay {
			return false
		}
		defer func() { first = false }()
		return !first
	})
}

// openProcesses starts all processes.
func openProcesses(ctx context.Context, st *stage, m *mail) (*processes, error) {
	c := &processes{}
	for _, r := range st.roster() {
		p, err := st.open(ctx, m, r.name, r.role)
		if err != nil {
			c.end()
			return nil, err
		}
		c.all = append(c.all, p)
		if err := p.run(); err != nil {
			c.end()
			return nil, err
		}
	}
	return c, nil
}

// of returns the processes of a role.
func (c *processes) of(role string) []*process {
	var some []*process
	for _, p := range c.all {
		if p.role == role {
			some = append(some, p)
		}
	}
	return some
}

// flowsWithin bounds the time until every role is at work.
const flowsWithin = time.Minute

// flows waits until every role has done some work, since a fault before that would have nothing to strike.
// It is not an error if a role has done none, since it may need a fault to do so.
func (c *processes) flows(ctx context.Context) error {
	for end := time.Now().Add(flowsWithin); time.Now().Before(end) && !c.flowing(); {
		if !wait.Full(ctx, 50*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
	return nil
}

// flowing reports whether every role has done some work.
func (c *processes) flowing() bool {
	done := map[string]int64{}
	for _, p := range c.all {
		p.mu.Lock()
		t := p.latest
		p.mu.Unlock()
		done[p.role] += t.Enqueued + t.Settled + t.Effects
	}
	for _, n := range done {
		if n == 0 {
			return false
		}
	}
	return true
}

// end stops all processes.
func (c *processes) end() {
	var group sync.WaitGroup
	for _, p := range c.all {
		group.Go(p.end)
	}
	group.Wait()
}

// count counts the processes and their lives by their roles.
func (c *processes) count() []report.Role {
	var counts []report.Role
	at := map[string]int{}
	for _, p := range c.all {
		i, ok := at[p.role]
		if !ok {
			i = len(counts)
			at[p.role] = i
			counts = append(counts, report.Role{Name: p.role})
		}
		p.mu.Lock()
		counts[i].Running++
		counts[i].Starts += p.starts
		p.mu.Unlock()
	}
	return counts
}

// surprises lists the unexpected ends of processes.
func (c *processes) surprises() []string {
	var all []string
	for _, p := range c.all {
		p.mu.Lock()
		for _, how := range p.surprise {
			all = append(all, fmt.Sprintf("%s: %s", p.name, how))
		}
		p.mu.Unlock()
	}
	return all
}
