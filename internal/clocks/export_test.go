package clocks

// Came is what Come is made of.
var Came = came
