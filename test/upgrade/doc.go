// Package upgrade shows that a store written by an older version is opened, brought to the present schema and worked on, also if the
// program that does so is killed at any statement, and that a program leaves a store of a newer version alone. testdata has one store per
// engine and schema, as a program left it that was killed: see package fill.
package upgrade
