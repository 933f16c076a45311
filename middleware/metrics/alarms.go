package metrics

import "sync"

// alarms counts the alarms that maintenance raises in each round while they last.
type alarms struct {
	raised *series[Counter]

	mu     sync.Mutex
	active map[string]map[string]struct{} // by kind and what they are about
}

// note records an alarm. about distinguishes it from others of its kind; an
// alarm without an end is always new.
func (a *alarms) note(kind, about string, ends, ended bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lasting := a.active[kind]
	_, before := lasting[about]
	switch {
	case ended:
		delete(lasting, about)
		return
	case before:
		return
	case ends:
		if lasting == nil {
			lasting = map[string]struct{}{}
			a.active[kind] = lasting
		}
		lasting[about] = struct{}{}
	}
	a.raised.of(kind).Add(1)
}

// kinds shows which kinds of alarms are active.
func (a *alarms) kinds(row id, name string, show func(reading)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for kind := range a.raised.values() {
		show(reading{row, [3]string{name, kind}, yes(len(a.active[kind]) > 0)})
	}
}
