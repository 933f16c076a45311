package results

// Set contains the samples of a run, by series. The zero value is empty.
type Set struct {
	values map[Series][]float64
	order  []Series
}

// Add adds rounds to a series.
func (s *Set) Add(to Series, values ...float64) {
	if s.values == nil {
		s.values = map[Series][]float64{}
	}
	if _, ok := s.values[to]; !ok {
		s.order = append(s.order, to)
	}
	s.values[to] = append(s.values[to], values...)
}

// Values returns the values of all rounds of a series, or nil if there are none. They must not be changed.
func (s *Set) Values(of Series) []float64 { return s.values[of] }

// Series returns all series, in the order in which they began. The first contender of a comparison is the
// one that the others are compared with. The result must not be changed.
func (s *Set) Series() []Series { return s.order }
