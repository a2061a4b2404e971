package sums
