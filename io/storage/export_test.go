package storage

var SchemeNames = schemeNames
