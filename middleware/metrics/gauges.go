package metrics

// reading is a gauge at one moment.
type reading struct {
	row    id
	values [3]string
	value  float64
}

// gauges are the gauges of one observer. read reads them when metrics are collected.
type gauges struct {
	read func(show func(r reading))
}

// show adds gauges, until stop is called.
func (m *Metrics) show(read func(show func(r reading))) (stop func()) {
	g := &gauges{read}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.gauges[g] = struct{}{}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.gauges, g)
	}
}

// read reads all gauges. If two observers show the same series, such as two relays of a group in
// one process, it shows the greatest of their values.
func (m *Metrics) read(show func(d Definition, value float64, values ...string)) {
	type name struct {
		row    id
		values [3]string
	}
	all := map[name]float64{}
	m.mu.Lock()
	sources := make([]*gauges, 0, len(m.gauges))
	for g := range m.gauges {
		sources = append(sources, g)
	}
	m.mu.Unlock()
	for _, g := range sources {
		g.read(func(r reading) {
			n := name{r.row, r.values}
			if before, ok := all[n]; !ok || r.value > before {
				all[n] = r.value
			}
		})
	}
	for n, value := range all {
		d := m.table[n.row]
		show(d, value, n.values[:len(d.Labels)]...)
	}
}

// yes returns 1 for true and 0 for false.
func yes(so bool) float64 {
	if so {
		return 1
	}
	return 0
}
