// Package benchmarks measures leat side by side with its alternatives, each comparison interleaved in one
// run on the same servers. It is a separate module, so that the rivals stay out of leat's dependencies.
//
// An iteration of a benchmark is a number of rounds, and a round runs each contender once, so that
// -benchtime=1x is a complete measurement. Figures are medians over all rounds. A ratio x-… is the median
// of the ratios within the rounds.
//
// The flag -scale selects how much is done, and -results where the samples of all rounds are written.
// Command bench makes docs/benchmarks.md and docs/internals/measurements.md from these.
package benchmarks
