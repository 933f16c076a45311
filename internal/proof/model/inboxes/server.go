package inboxes

import "github.com/leat-go/leat/internal/proof/model"

// serverSteps yields what the server does with transactions, and crashes of workers.
func (p *protocol) serverSteps(s state, yield yielder) {
	for n := range s.workers {
		w := &s.workers[n]
		if w.tx.phase == committing {
			to := s
			to.workers[n].tx.phase = committed
			p.apply(&to, w.tx)
			yield(model.Step{Who: "server", What: "commits for", On: name(n)}, to)
			to = s
			to.workers[n].tx.phase = aborted
			yield(model.Step{Who: "server", What: "refuses to commit for", On: name(n), Outside: true}, to)
		}
		if w.phase != away && p.crashes {
			p.crash(s, n, yield)
		}
	}
	if s.orphan.phase == none {
		return
	}
	to := s
	to.orphan = transaction{}
	yield(model.Step{Who: "server", What: "aborts what its worker has left"}, to)
	if s.orphan.phase == committing {
		p.apply(&to, s.orphan)
		yield(model.Step{Who: "server", What: "carries out a COMMIT whose worker is gone"}, to)
	}
}

// crash ends worker n. Its transaction stays for a while, or is gone at once.
func (p *protocol) crash(s state, n int, yield yielder) {
	tx := s.workers[n].tx
	s.workers[n] = worker{}
	if !tx.locks() {
		yield(model.Step{Who: name(n), What: "crashes", Outside: true}, s)
		return
	}
	if s.orphan.phase == none {
		s.orphan = tx
		yield(model.Step{Who: name(n), What: "crashes, its transaction stays open", Outside: true}, s)
	}
}

// forgetSteps yields that retention drops the id.
func (p *protocol) forgetSteps(s state, yield yielder) {
	if s.row && s.forget {
		s.row, s.forget, s.forgotten = false, false, true
		yield(model.Step{Who: "retention", What: "drops the id", Outside: true}, s)
	}
}
