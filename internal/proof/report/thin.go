package report

import (
	"cmp"
	"slices"
)

// width is the number of points that a plot can show.
const width = 600

// thinned returns the run with as many samples and marks as a plot can show. Rates are averaged. Of the
// lag, the highest value is kept.
func (r Run) thinned() Run {
	r.Samples, r.Marks = thinSamples(r.Samples), thinMarks(r.Marks)
	return r
}

func thinSamples(samples []Sample) []Sample {
	if len(samples) <= width {
		return samples
	}
	thin := make([]Sample, 0, width)
	for i := range width {
		group := samples[i*len(samples)/width : (i+1)*len(samples)/width]
		sum := Sample{T: group[len(group)-1].T}
		for _, s := range group {
			sum.Enqueued += s.Enqueued / float64(len(group))
			sum.Published += s.Published / float64(len(group))
			sum.Effects += s.Effects / float64(len(group))
			sum.LagMS = max(sum.LagMS, s.LagMS)
		}
		thin = append(thin, sum)
	}
	return thin
}

// thinMarks keeps the marks of rare faults, and thins all others evenly. The table of faults counts all of
// them.
func thinMarks(marks []Mark) []Mark {
	if len(marks) <= width {
		return marks
	}
	thin, others := rareMarks(marks)
	room := width - len(thin)
	for i := range room {
		thin = append(thin, others[i*len(others)/room])
	}
	slices.SortStableFunc(thin, func(a, b Mark) int { return cmp.Compare(a.T, b.T) })
	return thin
}
