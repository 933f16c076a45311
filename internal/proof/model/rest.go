package model

import "slices"

// findStuck looks for a state from which rest is out of reach, and shows where its steps end or
// cycle.
func (s *search[S]) findStuck() {
	if s.model.Rest == nil {
		return
	}
	forwards, backwards := newGraph(len(s.states), s.edges, false), newGraph(len(s.states), s.edges, true)
	var resting []int32
	for number := range s.states {
		if s.model.Rest(s.states[number]) {
			resting = append(resting, int32(number))
		}
	}
	can := backwards.reach(resting...)
	stuck := slices.Index(can.seen, false)
	if stuck < 0 {
		return
	}
	at := trap(forwards, backwards, int32(stuck)) //nolint:gosec // at most maxStates
	s.breaks(s.model.Liveness, "rest is always within reach, and is not from here", s.path(at))
	round := forwards.round(at)
	for i, to := range round {
		from := at
		if i > 0 {
			from = round[i-1]
		}
		s.report.Broken.Round = append(s.report.Broken.Round, s.between(s.states[from], s.states[to]))
	}
}

// trap returns a state that every state reachable from it can reach again, so that there is no way out. It
// is reachable from at.
func trap(forwards, backwards *graph, at int32) int32 {
	for {
		ahead, behind := forwards.reach(at), backwards.reach(at)
		out := slices.IndexFunc(ahead.order, func(n int32) bool { return !behind.seen[n] })
		if out < 0 {
			return slices.Min(ahead.order)
		}
		at = ahead.order[out]
	}
}

// graph stores the neighbours of state n as next[first[n]:first[n+1]].
type graph struct {
	first []int
	next  []int32
}

func newGraph(states int, edges []edge, reverse bool) *graph {
	g := &graph{first: make([]int, states+1), next: make([]int32, len(edges))}
	ends := func(e edge) (from, to int32) {
		if reverse {
			return e.to, e.from
		}
		return e.from, e.to
	}
	for _, e := range edges {
		from, _ := ends(e)
		g.first[from+1]++
	}
	for n := range states {
		g.first[n+1] += g.first[n]
	}
	filled := make([]int, states)
	for _, e := range edges {
		from, to := ends(e)
		g.next[g.first[from]+filled[from]] = to
		filled[from]++
	}
	return g
}

func (g *graph) neighbours(n int32) []int32 { return g.next[g.first[n]:g.first[n+1]] }

// reached lists states in the order in which they were reached.
type reached struct {
	seen  []bool
	order []int32
}

// reach returns the starts and all states that can be reached from them.
func (g *graph) reach(starts ...int32) reached {
	r := reached{seen: make([]bool, len(g.first)-1)}
	add := func(n int32) {
		if !r.seen[n] {
			r.seen[n] = true
			r.order = append(r.order, n)
		}
	}
	for _, n := range starts {
		add(n)
	}
	for i := 0; i < len(r.order); i++ { //nolint:intrange // it grows during the loop
		for _, n := range g.neighbours(r.order[i]) {
			add(n)
		}
	}
	return r
}

// round returns a shortest cycle from n back to n, without the first n. It returns nil if there is none.
func (g *graph) round(n int32) []int32 {
	parent := make(map[int32]int32)
	todo := []int32{n}
	for len(todo) > 0 {
		from := todo[0]
		todo = todo[1:]
		for _, to := range g.neighbours(from) {
			if _, ok := parent[to]; ok || to == from {
				continue
			}
			parent[to] = from
			if to != n {
				todo = append(todo, to)
				continue
			}
			way := []int32{n}
			for at := from; at != n; at = parent[at] {
				way = append(way, at)
			}
			slices.Reverse(way)
			return way
		}
	}
	return nil
}
