-- The 22 questions of TPC-H, asked in SQLite's SQL with the benchmark's first parameters.

-- 1: what has been shipped, by state
select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
       sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
from lineitem where l_shipdate <= date('1998-12-01', '-90 days') group by 1, 2 order by 1, 2;

-- 2: the cheapest supplier of a part in a region
with offers as (
    select * from partsupp join supplier on s_suppkey = ps_suppkey join nation on n_nationkey = s_nationkey
    join region on r_regionkey = n_regionkey where r_name = 'EUROPE')
select s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
from part join offers on ps_partkey = p_partkey
where p_size = 15 and p_type like '%BRASS'
  and ps_supplycost = (select min(ps_supplycost) from offers as other where other.ps_partkey = p_partkey)
order by s_acctbal desc, n_name, s_name, p_partkey limit 100;

-- 3: the most valuable orders that have not been shipped
select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
from customer join orders on o_custkey = c_custkey join lineitem on l_orderkey = o_orderkey
where c_mktsegment = 'BUILDING' and o_orderdate < '1995-03-15' and l_shipdate > '1995-03-15'
group by 1 order by revenue desc, o_orderdate limit 10;

-- 4: orders of a quarter with a line that came late, by priority
select o_orderpriority, count(*) from orders
where o_orderdate >= '1993-07-01' and o_orderdate < '1993-10-01'
  and exists (select 1 from lineitem where l_orderkey = o_orderkey and l_commitdate < l_receiptdate)
group by 1 order by 1;

-- 5: sales within the nations of a region
select n_name, sum(l_extendedprice * (1 - l_discount)) as revenue
from orders join customer on c_custkey = o_custkey join lineitem on l_orderkey = o_orderkey
join supplier on s_suppkey = l_suppkey and s_nationkey = c_nationkey join nation on n_nationkey = s_nationkey
join region on r_regionkey = n_regionkey
where r_name = 'ASIA' and o_orderdate >= '1994-01-01' and o_orderdate < '1995-01-01'
group by 1 order by revenue desc;

-- 6: what smaller discounts would have brought
select sum(l_extendedprice * l_discount) from lineitem
where l_shipdate >= '1994-01-01' and l_shipdate < '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24;

-- 7: trade between two nations, by year
select seller.n_name, buyer.n_name, substr(l_shipdate, 1, 4) as year, sum(l_extendedprice * (1 - l_discount))
from lineitem join orders on o_orderkey = l_orderkey join customer on c_custkey = o_custkey
join supplier on s_suppkey = l_suppkey join nation as seller on seller.n_nationkey = s_nationkey
join nation as buyer on buyer.n_nationkey = c_nationkey
where (seller.n_name, buyer.n_name) in (values ('FRANCE', 'GERMANY'), ('GERMANY', 'FRANCE'))
  and l_shipdate between '1995-01-01' and '1996-12-31'
group by 1, 2, 3 order by 1, 2, 3;

-- 8: a nation's share of a market, by year
select substr(o_orderdate, 1, 4) as year,
       sum(iif(seller.n_name = 'BRAZIL', l_extendedprice * (1 - l_discount), 0)) / sum(l_extendedprice * (1 - l_discount))
from part join lineitem on l_partkey = p_partkey join supplier on s_suppkey = l_suppkey
join orders on o_orderkey = l_orderkey join customer on c_custkey = o_custkey
join nation as buyer on buyer.n_nationkey = c_nationkey join region on r_regionkey = buyer.n_regionkey
join nation as seller on seller.n_nationkey = s_nationkey
where r_name = 'AMERICA' and p_type = 'ECONOMY ANODIZED STEEL' and o_orderdate between '1995-01-01' and '1996-12-31'
group by 1 order by 1;

-- 9: profit with some parts, by nation and year
select n_name, substr(o_orderdate, 1, 4) as year,
       sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)
from part join lineitem on l_partkey = p_partkey
join partsupp on ps_partkey = l_partkey and ps_suppkey = l_suppkey join supplier on s_suppkey = l_suppkey
join orders on o_orderkey = l_orderkey join nation on n_nationkey = s_nationkey
where p_name like '%green%' group by 1, 2 order by 1, 2 desc;

-- 10: customers who sent most back
select c_custkey, c_name, sum(l_extendedprice * (1 - l_discount)) as revenue, c_acctbal, n_name, c_address, c_phone
from orders join customer on c_custkey = o_custkey join lineitem on l_orderkey = o_orderkey
join nation on n_nationkey = c_nationkey
where o_orderdate >= '1993-10-01' and o_orderdate < '1994-01-01' and l_returnflag = 'R'
group by 1 order by revenue desc, 1 limit 20;

-- 11: the stock that matters most in a nation
with held as (
    select ps_partkey, sum(ps_supplycost * ps_availqty) as value from partsupp
    join supplier on s_suppkey = ps_suppkey join nation on n_nationkey = s_nationkey where n_name = 'GERMANY' group by 1)
select ps_partkey, value from held where value > 0.0001 * (select sum(value) from held) order by value desc, 1;

-- 12: whether cheap ways of shipping make urgent orders late
select l_shipmode, sum(o_orderpriority in ('1-URGENT', '2-HIGH')), sum(o_orderpriority not in ('1-URGENT', '2-HIGH'))
from lineitem join orders on o_orderkey = l_orderkey
where l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate
  and l_receiptdate >= '1994-01-01' and l_receiptdate < '1995-01-01'
group by 1 order by 1;

-- 13: customers by number of orders
select orders_made, count(*) from (
    select c_custkey, count(o_orderkey) as orders_made from customer
    left join orders on o_custkey = c_custkey and o_comment not like '%special%requests%' group by 1)
group by 1 order by 2 desc, 1 desc;

-- 14: the share of promoted parts in a month
select 100 * sum(iif(p_type like 'PROMO%', l_extendedprice * (1 - l_discount), 0)) / sum(l_extendedprice * (1 - l_discount))
from lineitem join part on p_partkey = l_partkey where l_shipdate >= '1995-09-01' and l_shipdate < '1995-10-01';

-- 15: the best supplier of a quarter
with sold as (
    select l_suppkey, sum(l_extendedprice * (1 - l_discount)) as revenue from lineitem
    where l_shipdate >= '1996-01-01' and l_shipdate < '1996-04-01' group by 1)
select s_suppkey, s_name, s_address, s_phone, revenue from supplier join sold on l_suppkey = s_suppkey
where revenue = (select max(revenue) from sold) order by 1;

-- 16: how many suppliers can deliver parts of some kinds
select p_brand, p_type, p_size, count(distinct ps_suppkey) from partsupp join part on p_partkey = ps_partkey
where p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%' and p_size in (49, 14, 23, 45, 19, 3, 36, 9)
  and ps_suppkey not in (select s_suppkey from supplier where s_comment like '%Customer%Complaints%')
group by 1, 2, 3 order by 4 desc, 1, 2, 3;

-- 17: what small orders of some parts bring in a year
select sum(l_extendedprice) / 7 from lineitem join part on p_partkey = l_partkey
where p_brand = 'Brand#23' and p_container = 'MED BOX'
  and l_quantity < (select 0.2 * avg(other.l_quantity) from lineitem as other where other.l_partkey = p_partkey);

-- 18: customers with large orders
select c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity)
from (select l_orderkey as large from lineitem group by 1 having sum(l_quantity) > 300)
join orders on o_orderkey = large join customer on c_custkey = o_custkey join lineitem on l_orderkey = o_orderkey
group by 1, 2, 3, 4, 5 order by o_totalprice desc, o_orderdate limit 100;

-- 19: what three kinds of parts brought by air
select sum(l_extendedprice * (1 - l_discount)) from lineitem join part on p_partkey = l_partkey
where l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON' and p_size >= 1 and (
    p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') and l_quantity between 1 and 11 and p_size <= 5
 or p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') and l_quantity between 10 and 20 and p_size <= 10
 or p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') and l_quantity between 20 and 30 and p_size <= 15);

-- 20: suppliers with more of some parts than they need
select s_name, s_address from supplier join nation on n_nationkey = s_nationkey
where n_name = 'CANADA' and s_suppkey in (
    select ps_suppkey from partsupp where ps_partkey in (select p_partkey from part where p_name like 'forest%')
      and ps_availqty > (select 0.5 * sum(l_quantity) from lineitem where l_partkey = ps_partkey and l_suppkey = ps_suppkey
                         and l_shipdate >= '1994-01-01' and l_shipdate < '1995-01-01'))
order by 1;

-- 21: suppliers who alone kept an order waiting
select s_name, count(*) as late from supplier join nation on n_nationkey = s_nationkey
join lineitem as own on own.l_suppkey = s_suppkey join orders on o_orderkey = own.l_orderkey
where n_name = 'SAUDI ARABIA' and o_orderstatus = 'F' and own.l_receiptdate > own.l_commitdate
  and exists (select 1 from lineitem as other where other.l_orderkey = own.l_orderkey and other.l_suppkey <> own.l_suppkey)
  and not exists (select 1 from lineitem as other where other.l_orderkey = own.l_orderkey
                  and other.l_suppkey <> own.l_suppkey and other.l_receiptdate > other.l_commitdate)
group by 1 order by late desc, 1 limit 100;

-- 22: customers with money who have not ordered
with known as (
    select substr(c_phone, 1, 2) as code, c_acctbal, c_custkey from customer
    where substr(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17'))
select code, count(*), sum(c_acctbal) from known
where c_acctbal > (select avg(c_acctbal) from known where c_acctbal > 0)
  and not exists (select 1 from orders where o_custkey = c_custkey)
group by 1 order by 1;
