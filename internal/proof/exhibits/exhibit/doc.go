// Package exhibit runs exhibits: scenarios that are played twice, once on a released version of
// what teams use today and once on leat, and judged by what was committed and what took effect.
package exhibit
