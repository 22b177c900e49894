// Package novatest starts a real OpenStack cloud for tests: Debian's keystone,
// placement, glance and nova with MariaDB and RabbitMQ, in one machine made of
// namespaces. Nova's own fake hypervisor stands for the hardware, and a few lines of
// Python for the network service; all that a client of Nova can see is Nova's.
//
// The image is built once, with the databases laid out in it, and kept in the
// cache by its recipe. A cloud then starts its servers in about a minute, and
// takes all it has with it when it is closed or its process dies.
package novatest
