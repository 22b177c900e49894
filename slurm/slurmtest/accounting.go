package slurmtest

import (
	"fmt"
	"strings"

	"spillway.sh/spillway/bridge/sandbox"
)

// Account is the Slurm account that every ordinary user submits to in a
// cluster with accounting.
const Account = "research"

const databaseScript = `install -d /run/mysqld
# The database is made here and not by slurmdbd: after a refused connection some
# client libraries forget their limits, and slurmdbd of 24.11 stops.
cat > /run/mysqld/init.sql <<'SQL'
CREATE DATABASE IF NOT EXISTS slurm_acct_db;
CREATE USER IF NOT EXISTS slurm@localhost IDENTIFIED BY 'slurm';
GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
SQL
# No table is worth a sync: the database goes with the cluster.
mariadbd --no-defaults --user=root --datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock --skip-networking \
	--pid-file=/run/mysqld/mysqld.pid --init-file=/run/mysqld/init.sql --innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 \
	>/var/log/slurm/mariadbd.log 2>&1 </dev/null &
until [ -S /run/mysqld/mysqld.sock ]; do sleep 0.05; done`

const waitAccountingScript = `until sacctmgr -n show cluster >/dev/null 2>&1; do sleep 0.1; done`

// accountingScripts bring up database and slurmdbd and fill in who is who.
func (c *Cluster) accountingScripts() []string {
	var people []string
	for _, account := range Accounts() {
		people = append(people, account.Name)
	}
	setUp := fmt.Sprintf(`sacctmgr -i -Q add cluster rig
sacctmgr -i -Q add account %[1]s cluster=rig
sacctmgr -i -Q add user %[2]s account=%[1]s
sacctmgr -i -Q modify user %[3]s set adminlevel=Administrator`,
		Account, strings.Join(people, ","), sandbox.Operator.Name)
	return []string{databaseScript, "slurmdbd", waitAccountingScript, setUp}
}
