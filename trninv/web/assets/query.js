import{C as e,T as t,a as n,g as r,n as i,r as a,t as o,v as s,x as c}from"./jsxRuntime.js";import{l}from"./api.js";import{r as u}from"./proposal.js";import{r as d,s as f}from"./parts.js";import{i as p,n as m,t as h}from"./table.js";import{l as g}from"./words.js";var _={sql:[{name:`Clusters by size`,text:`SELECT address, system, domains, servers, chips
FROM v_cluster
ORDER BY chips DESC, address`},{name:`Unhealthy parts by change`,text:`SELECT change, min(since) AS since, min(why) AS why, count(*) AS parts
FROM v_unhealthy
GROUP BY change
ORDER BY parts DESC, change`},{name:`Free chips by cluster`,text:`SELECT cluster, count(*) AS free_chips, sum(CASE WHEN state = 'degraded' THEN 1 ELSE 0 END) AS degraded
FROM v_free_chip
GROUP BY cluster
ORDER BY free_chips DESC, cluster`},{name:`Jobs and their failed chips`,text:`SELECT name AS job, cluster, chips, failed_chips, started_at
FROM v_job
WHERE state = 'running'
ORDER BY failed_chips DESC, chips DESC, job`},{name:`Down for more than a week`,text:`SELECT address, at AS since, who, why
FROM v_event
WHERE state = 'down' AND until IS NULL AND at < now() - INTERVAL '7 days'
ORDER BY at`},{name:`Link bandwidth now and when healthy`,text:`SELECT cluster, technology, count(*) AS links, sum(bandwidth_gb_per_s) AS now_gb_per_s,
    sum(nominal_gb_per_s) AS healthy_gb_per_s
FROM v_link
GROUP BY cluster, technology
ORDER BY cluster, technology`}],cypher:[{name:`Chips by cluster and state`,text:`MATCH (c:Chip)
RETURN c.cluster AS cluster, c.state AS state, count(*) AS chips
ORDER BY cluster, state`},{name:`Neighbors of failed chips`,text:`MATCH (c:Chip)-[l:SCALE_UP]-(o:Chip)
WHERE c.state = 'down' AND o.state = 'up'
RETURN c.address AS down, o.address AS neighbor, l.technology AS technology
ORDER BY down, neighbor
LIMIT 100`},{name:`Jobs next to a failed chip`,text:`MATCH (j:Job)-[:ALLOCATED]->(c:Chip)-[:SCALE_UP]-(o:Chip)
WHERE o.state = 'down'
RETURN DISTINCT j.name AS job, c.address AS chip, o.address AS down
ORDER BY job, chip
LIMIT 100`},{name:`Jobs that share a rack`,text:`MATCH (j:Job)-[:ALLOCATED]->(c:Chip), (k:Job)-[:ALLOCATED]->(d:Chip)
WHERE c.rack = d.rack AND j.name < k.name
RETURN DISTINCT c.rack AS rack, j.name AS job, k.name AS neighbor
ORDER BY rack, job, neighbor`},{name:`Servers without an instance`,text:`MATCH (s:Server)
WHERE NOT EXISTS { MATCH (:Instance)-[:RUNS_ON]->(s) }
RETURN s.cluster AS cluster, count(*) AS servers
ORDER BY cluster`},{name:`Chips within three hops`,text:`MATCH (a:Chip)
WITH a ORDER BY a.address LIMIT 1
MATCH (a)-[l:SCALE_UP* SHORTEST 1..3]-(b:Chip)
RETURN a.address AS from_chip, length(l) AS hops, count(DISTINCT b.address) AS chips
ORDER BY hops`}]},v={sql:`SQL`,cypher:`Cypher`},y=4096,b={},x=e=>e==null?null:typeof e==`object`?JSON.stringify(e):e,S=({columns:e,rows:t,truncated:n})=>({columns:e,truncated:n,rows:t.map(t=>e.map(e=>x(t[e])))});function C({options:e}){let t=n(v,e.lang,`sql`);return o(`article`,{children:[o(`header`,{class:`title`,children:[o(`h1`,{children:`Query`}),o(`nav`,{class:`tabs`,"aria-label":`Language`,children:[Object.keys(v).map(e=>o(`a`,{href:a(`query`,``,{lang:e===`sql`?void 0:e}),"aria-current":e===t?`page`:void 0,children:v[e]},e)),o(`a`,{href:`graphql`,children:`GraphiQL`})]}),o(`div`,{class:`tools`,children:o(`a`,{href:`docs/reference/${t}/`,children:[v[t],` reference`]})})]}),o(T,{language:t,options:e},t)]})}function w(t){let[n,i]=e(),[a,o]=e(!1),u=c(void 0),{asof:d}=r();return s(()=>()=>u.current?.abort(),[]),s(()=>i(void 0),[d]),{outcome:n,isRunning:a,run:e=>{u.current?.abort(),u.current=new AbortController;let{signal:n}=u.current,r=performance.now();o(!0);let a=e=>{n.aborted||(o(!1),i({...e,took:performance.now()-r}))};l(t,{[t]:e},n).then(e=>a({rows:S(e)}),e=>a({error:e}))},stop:()=>{u.current?.abort(),o(!1)}}}function T({language:t,options:n}){let r=_[t],[a,c]=e(n.text??b[t]??r[0]?.text??``),{outcome:l,isRunning:d,run:f,stop:p}=w(t),m=u(),h=r.some(e=>e.text===a);s(()=>{t===`sql`&&h&&f(a)},[]);let g=m&&!m.scopes.includes(`SQL`),x=e=>{b[t]=e,c(e)},S=e=>{if(!e.trim()||g)return;let t=e.length>y?void 0:e;i({text:t,sort:void 0,where:void 0,cols:void 0},!0),f(e)};return o(`div`,{class:`query`,children:[o(`form`,{class:`card editor`,onSubmit:e=>{e.preventDefault(),S(a)},children:[o(`label`,{children:[o(`span`,{class:`unseen`,children:[v[t],` query`]}),o(`textarea`,{name:`query`,rows:9,spellcheck:!1,autocomplete:`off`,autocapitalize:`off`,wrap:`off`,value:a,onInput:e=>x(e.currentTarget.value),onKeyDown:e=>{e.key===`Enter`&&(e.ctrlKey||e.metaKey)&&S(a)}})]}),o(`div`,{class:`tools`,children:[d?o(`button`,{type:`button`,class:`run`,onClick:p,children:`Stop`}):o(`button`,{type:`submit`,class:`main run`,disabled:!a.trim()||g,children:`Run`}),o(`span`,{class:`quiet`,children:`Ctrl+Enter`}),o(`span`,{class:`quiet note`,children:E[t]})]}),g&&o(`p`,{class:`warned`,children:[`Your token has the scope `,m.scope.toLowerCase(),`. To run queries, use one with the scope sql:`,` `,o(`code`,{children:`trninv token create NAME --scope sql`})]})]}),o(`section`,{class:`card examples`,"aria-label":`Examples`,children:[o(`h2`,{children:`Examples`}),o(`ul`,{class:`plain`,children:r.map(e=>o(`li`,{children:o(`button`,{type:`button`,class:`plain`,"aria-pressed":e.text===a,onClick:()=>{x(e.text),S(e.text)},children:e.name})},e.name))})]}),o(`div`,{class:`result`,"aria-busy":d,children:[!l&&o(`p`,{class:`quiet`,children:d?`Running…`:`The rows will be here.`}),l&&o(D,{language:t,outcome:l,options:n,isStale:d})]})]})}var E={sql:`One read-only SELECT over the views`,cypher:`One read-only query; needs trninv[graph] on the server, and the first one builds the graph`};function D({language:e,outcome:{rows:t,error:n,took:r},options:i,isStale:a}){return n?o(O,{language:e,error:n}):t?o(`div`,{class:a?`stale`:void 0,children:[t.truncated&&o(`p`,{class:`warned`,children:[`Showing the first `,g(t.rows.length,`row`),`. Add conditions or a LIMIT.`]}),o(k,{name:e,rows:t,options:i,took:r})]}):null}function O({language:e,error:t}){return e!==`cypher`||t.code!==`BAD_USE`?o(f,{error:t}):o(`section`,{class:`card`,"aria-label":`Cypher is not installed`,children:[o(`p`,{class:`failure`,children:[`This service has no Cypher: `,t.message]}),o(`p`,{children:[`On the server, run `,o(`code`,{children:`pip install 'trninv[graph]'`}),` and restart `,o(`code`,{children:`trninv serve`}),`. SQL works without it.`]})]})}function k({name:e,rows:n,options:{sort:r=``,where:i=``,cols:a=``},took:s}){let c={sort:r,where:i,cols:a},l=m(n,c);return o(h,{name:e,all:n,shown:l,view:c,tools:o(t,{children:[o(d,{name:`Copy CSV`,text:()=>p(l)}),o(`span`,{class:`quiet`,children:s<1e3?`${Math.round(s)} ms`:`${(s/1e3).toFixed(1)} s`})]})})}export{C as Query};