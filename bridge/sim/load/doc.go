// Package load holds no code: its benchmarks are one look at the world of a
// large site, with 50,000 waiting jobs, 2,000 rented machines in 200 rentals and
// 500 offers. The engine, the store, the policy and the reading of Slurm's own
// text are the real ones; only the commands and the clouds behind them are made.
//
// A look has to take less than two seconds of one core, and the whole process
// less than 500 MB. Figures are for benchstat and for people: no test here fails
// because a machine is slow. What made looks slow once was work that grew with
// rentals times machines; a test counts that work instead.
package load
