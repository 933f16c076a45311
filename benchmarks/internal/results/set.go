package results

// Set has the samples of a run by series. The zero value is empty.
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

// Values are the values of all rounds of a series, nil if there are none. They must not be changed.
func (s *Set) Values(of Series) []float64 { return s.values[of] }

// Series are all series, in the order in which they were begun: the other contenders of a
// comparison are compared with the first. They must not be changed.
func (s *Set) Series() []Series { return s.order }
