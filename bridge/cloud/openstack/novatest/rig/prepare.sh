# Runs once, at the end of the image's build; $1 is its root. It lays out the
# databases, the first user and the catalogue, which take minutes, so that a
# cloud only starts its servers. Nothing listens on a network meanwhile.
set -e
root=$1
chroot "$root" mariadb-install-db --no-defaults --user=root --skip-test-db --auth-root-authentication-method=normal \
	--datadir=/var/lib/mysql --skip-name-resolve --force --innodb-log-file-size=8M >/dev/null
chroot "$root" install -d /run/mysqld
chroot "$root" mariadbd --no-defaults --user=root --datadir=/var/lib/mysql --socket=/run/mysqld/mysqld.sock --skip-networking \
	--innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 --log-error=/var/log/mariadbd.log &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" || true' EXIT
sql() { chroot "$root" mariadb --no-defaults --socket=/run/mysqld/mysqld.sock "$@"; }
for i in $(seq 300); do sql -e 'select 1' >/dev/null 2>&1 && break; sleep 0.2; done
for name in keystone placement glance nova nova_api nova_cell0; do sql -e "create database $name character set utf8mb3"; done
at() { echo "mysql+pymysql://root@localhost/$1?unix_socket=/run/mysqld/mysqld.sock"; }

chroot "$root" install -d -m 700 /etc/keystone/fernet-keys /etc/keystone/credential-keys
OS_DATABASE__CONNECTION=$(at keystone) chroot "$root" keystone-manage db_sync &
OS_PLACEMENT_DATABASE__CONNECTION=$(at placement) chroot "$root" placement-manage db sync &
OS_DATABASE__CONNECTION=$(at glance) chroot "$root" glance-manage db_sync &
chroot "$root" keystone-manage fernet_setup --keystone-user root --keystone-group root
chroot "$root" keystone-manage credential_setup --keystone-user root --keystone-group root
export OS_DATABASE__CONNECTION OS_API_DATABASE__CONNECTION OS_DEFAULT__TRANSPORT_URL=rabbit://guest:guest@127.0.0.1:5672/
OS_DATABASE__CONNECTION=$(at nova)
OS_API_DATABASE__CONNECTION=$(at nova_api)
chroot "$root" nova-manage api_db sync
chroot "$root" nova-manage cell_v2 map_cell0 --database_connection "$(at nova_cell0)"
chroot "$root" nova-manage cell_v2 create_cell --name cell1
chroot "$root" nova-manage db sync
for i in 1 2 3; do
	for job in $(jobs -p); do [ "$job" = "$server" ] || wait "$job"; done
done

# PUBLIC stands for the address that the cloud will have.
OS_DATABASE__CONNECTION=$(at keystone) chroot "$root" keystone-manage bootstrap --bootstrap-password admin --bootstrap-region-id RegionOne \
	--bootstrap-admin-url http://127.0.0.1:5000/v3 --bootstrap-internal-url http://127.0.0.1:5000/v3 --bootstrap-public-url http://PUBLIC:5000/v3
for line in "compute :8774/v2.1" "placement :8778" "image :9292" "network :9696"; do
	service=${line% *} path=${line#* }
	sql keystone -e "insert into service (id, type, enabled, extra) values (md5('$service'), '$service', 1, '{\"name\": \"$service\"}')"
	for way in public internal; do
		host=127.0.0.1
		[ $way = public ] && host=PUBLIC
		sql keystone -e "insert into endpoint (id, interface, service_id, url, extra, enabled, region_id)
			values (md5('$service $way'), '$way', md5('$service'), 'http://$host$path', '{}', 1, 'RegionOne')"
	done
done
sql -e 'set global innodb_fast_shutdown=0; shutdown'
wait "$server"
trap - EXIT
rm -rf "$root/var/cache/apt" "$root/var/lib/apt/lists"
