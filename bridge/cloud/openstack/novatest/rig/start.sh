#!/bin/bash
# Boots the cloud: servers first, then those that ask them. Each writes to a file
# of its own in /var/log/cloud.
cd /
mkdir -p /run/mysqld /run/nova /var/log/cloud /var/lib/nova/instances /var/lib/glance/images
run() { # NAME COMMAND...
	name=$1
	shift
	"$@" >/var/log/cloud/$name.out 2>&1 &
}
python() { # NAME MODULE [ARGUMENTS...]
	name=$1 module=$2
	shift 2
	run "$name" python3 -c "import sys; from $module import main; sys.argv[0] = '$name'; sys.exit(main())" "$@"
}
answers() { # PORT
	until curl -s -o /dev/null "http://127.0.0.1:$1/"; do sleep 0.1; done
}
sql() { mariadb --no-defaults --socket=/run/mysqld/mysqld.sock "$@"; }

run mariadb mariadbd --no-defaults --user=root --datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock --skip-networking \
	--innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=64M --max-connections=500
RABBITMQ_NODENAME=rabbit@localhost RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 1:1 +sbwt none" run rabbitmq rabbitmq-server
run network python3 /usr/local/lib/cloud/network.py
until sql -e 'select 1' >/dev/null 2>&1; do sleep 0.1; done
address=$(ip -4 -o address show dev eth0 | awk '{split($4, a, "/"); print a[1]}')
sql keystone -e "update endpoint set url = replace(url, 'PUBLIC', '$address')"
run keystone python3 /usr/local/lib/cloud/wsgi.py keystone.server.wsgi initialize_public_application 5000
run placement python3 /usr/local/lib/cloud/wsgi.py placement.wsgi init_application 8778
python glance glance.cmd.api --config-file /etc/glance/glance-api.conf
python conductor nova.cmd.conductor
python api nova.cmd.api_os_compute
answers 5000
answers 8778
python scheduler nova.cmd.scheduler # It asks placement once, and ends if nobody is there.
until (: </dev/tcp/127.0.0.1/5672) 2>/dev/null; do sleep 0.1; done
for host in HOSTS; do
	driver=fake.FakeDriver provider=/etc/nova/none
	case $host in
	gpu*) provider=/etc/nova/provider ;;
	broken*) driver=fake.FakeBuildAbortDriver ;;
	esac
	printf '[DEFAULT]\nhost = %s\ncompute_driver = %s\n[compute]\nprovider_config_location = %s\n' "$host" "$driver" "$provider" >/etc/nova/$host.conf
	python "$host" nova.cmd.compute --config-file /etc/nova/nova.conf --config-file /etc/nova/$host.conf
done
