import{S as e,_ as t,a as n,c as r,d as i,l as a,p as o,r as s}from"./words.js";import{m as c,n as l,r as u,t as d}from"./index.js";import{C as f,h as p,i as m,n as h,t as g}from"./jsxRuntime.js";import{o as _,r as v,t as y}from"./parts.js";import{a as b,d as x,f as S,l as C,n as w,o as T,p as E,t as D}from"./state.js";import{n as O,t as k}from"./asked.js";var A=t(`
  query Incidents {
    incidents(first: 200) {
      totalCount
      edges {
        cursor
        node {
          id rule severity place causes causeCount staying since who why source truncated
          parts { kind state count }
          lastChange { at who why }
          standing { server instance host }
          drift { id rule address found }
        }
      }
    }
    events(last: 1, filter: { after: { eq: UP }, takenAlong: { eq: false } }) { nodes { at address who why } }
  }
`),j=o(A,{}),M=({parts:e})=>[`down`,`degraded`,`maintenance`].find(t=>e.some(e=>e.state===t))??`down`,N=e=>e.place??e.causes[0]??``,P=t(`
  query CarryNothing($at: Address!) {
    resolve(address: $at) {
      ... on Chip { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
      ... on Switch { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
      ... on Nic { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
      ... on NetworkNode { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
    }
  }
`),F=t(`
  query ServerCarriesNothing($domain: Address!, $within: String!) {
    links(first: 1, filter: {
      domain: { eq: $domain }, address: { contains: $within }, bandwidth: { eq: { bytesPerSecond: "0" } }
    }) { totalCount }
  }
`),I=t(`
  query JobsThere($of: Address!) { jobs(of: $of, first: 4) { totalCount nodes { name system externalId } } }
`),L=4;function R({of:e,costs:t}){let n=e.parts.reduce((e,{count:t})=>e+t,0),i=e.causeCount-Math.min(L,e.causes.length);return g(`ul`,{class:`tree`,children:[e.causes.slice(0,L).map(e=>g(z,{address:e},e)),i>0&&g(`li`,{class:`quiet`,children:[`and `,s(i,`more cause`)]}),n>e.causeCount&&g(`li`,{class:`follows states`,children:g(D,{of:e.parts})}),e.staying>0&&g(`li`,{class:`follows`,children:[s(e.staying,`part`),` not up by themselves: they stay so when the causes are back`]}),t?.domains.map(e=>g(`li`,{class:`follows`,children:[g(w,{state:`up`}),g(`span`,{children:[g(`strong`,{children:s(e.chipsNow,`chip`)}),` still reached`,` `,g(`span`,{class:`quiet`,children:[`of `,r(e.chipsBefore),` of `,g(`a`,{href:m(`domain`,e.domain),children:e.domain})]})]})]},e.domain)),t&&g(V,{of:t}),t?.domains.filter(H).map(e=>g(U,{domain:e.domain,known:t.jobs},e.domain))]})}function z({address:t}){let n=/\/s\d+$/.test(t),r=t.replace(/\/[^/]+$/,``),i=e(n?o(F,{domain:r,within:`${t}/`}):null),c=e(n||t.includes(`--`)?null:o(P,{at:t})),l=i.data?.links??(c.data&&`links`in c.data.resolve?c.data.resolve.links:void 0);return g(`li`,{children:[g(`a`,{href:m(`at`,t),children:a(t)}),` `,g(`span`,{class:`quiet`,children:`root cause`}),l&&l.totalCount>0&&g(`ul`,{class:`tree`,children:g(`li`,{children:[g(w,{state:`down`}),g(`span`,{children:[g(`strong`,{children:s(l.totalCount,`link`)}),` `,l.totalCount===1?`carries`:`carry`,` `,`nothing`]})]})})]})}var B=({of:{name:e,system:t,externalId:n}})=>g(`a`,{href:m(`jobs`,``,{sel:e}),children:e||`${t}:${n}`});function V({of:{jobCount:e,jobs:t}}){return e?g(`li`,{class:`follows`,children:[g(w,{state:`down`}),g(`span`,{children:[g(`strong`,{children:s(e,`job`)}),` with chips of it`,t.slice(0,L).map(e=>g(`span`,{class:`quiet`,children:[` `,g(B,{of:e}),`: `,r(e.touched),` of its `,s(e.chips,`chip`)]},`${e.system} ${e.externalId}`))]})]}):g(`li`,{class:`follows quiet`,children:`No job holds chips of it`})}var H=({allGatherBefore:e,allGatherNow:t,bisectionBefore:n,bisectionNow:r,isComparable:i})=>t.upper.gigabytesPerSecond<e.lower.gigabytesPerSecond||i&&r.upper.gigabytesPerSecond<n.lower.gigabytesPerSecond;function U({domain:t,known:n}){let{data:r}=e(o(I,{of:t})),i=({system:e,externalId:t})=>n.some(n=>n.system===e&&n.externalId===t),a=r?.jobs.nodes.filter(e=>!i(e))??[];return a.length?g(`li`,{class:`follows`,children:[g(w,{state:`degraded`}),g(`span`,{children:[g(`strong`,{children:s(a.length,`job`)}),` on other chips of `,t,`, slower between them:`,a.map(e=>g(`span`,{children:[` `,g(B,{of:e})]},`${e.system} ${e.externalId}`))]})]}):null}var W=t(`
  query Impact($after: String) {
    incidents(first: 1, after: $after) {
      nodes {
        id
        impact {
          chips cores jobCount domainCount truncated
          memory { gibibytes }
          jobs { name system externalId chips touched }
          domains {
            domain chipsBefore chipsNow isComparable
            poolBefore { gibibytes }
            poolNow { gibibytes }
            bisectionBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
            bisectionNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
            allGatherBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
            allGatherNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);function G(t,n){let r=e(o(W,{after:n})),a=r.data?.incidents.nodes[0];return!r.data||a?.id===t?{...r,data:a?.impact}:{...r,data:void 0,error:new i(`The list has just changed.`,``)}}function K({of:e}){return g(`div`,{class:`inner`,children:[g(`h3`,{children:`Impact, before → after`}),g(_,{of:e,children:e=>g(X,{of:e})})]})}var q=({lower:e,upper:t,exact:n})=>`${n?``:`${r(e.gigabytesPerSecond)} to `}${r(t.gigabytesPerSecond)} GB/s`,J=(e,t)=>e&&e!==t?`${t<e?`−`:`+`}${r(Math.abs(100*(t-e)/e))} %`:``;function Y({name:e,was:t,is:n,note:r,less:i}){return g(`div`,{children:[g(`dt`,{children:e}),g(`dd`,{children:[g(y,{now:n,before:t}),` `,g(`span`,{class:i?.startsWith(`−`)?`less`:`quiet`,children:r??i})]})]})}function X({of:e}){return g(f,{children:[g(`p`,{children:e.chips?`${s(e.chips,`chip`)} with ${s(e.cores,`core`)} and ${n(e.memory)} carry nothing.`:`Every chip still carries.`}),e.domains.map(e=>{let[t,i]=[e.poolBefore.gibibytes,e.poolNow.gibibytes],[a,o]=[e.bisectionBefore,e.bisectionNow],[s,c]=[e.allGatherBefore,e.allGatherNow],l=e.isComparable?{}:{note:`not comparable: fewer chips`};return g(`section`,{"aria-label":e.domain,children:[g(`h4`,{children:g(`a`,{href:m(`domain`,e.domain),children:e.domain})}),g(`dl`,{class:`figures`,children:[g(Y,{name:`Chips that carry`,was:r(e.chipsBefore),is:r(e.chipsNow),less:J(e.chipsBefore,e.chipsNow)}),g(Y,{name:`Still reached, most HBM`,was:n(e.poolBefore),is:n(e.poolNow),less:J(t,i)}),g(Y,{name:`Bisection`,was:q(a),is:q(o),less:J(a.upper.gigabytesPerSecond,o.upper.gigabytesPerSecond),...l}),g(Y,{name:`All-gather, at most`,was:q(s),is:q(c),less:J(s.upper.gigabytesPerSecond,c.upper.gigabytesPerSecond)})]})]},e.domain)}),e.domainCount>e.domains.length&&g(`p`,{class:`quiet`,children:[`and `,s(e.domainCount-e.domains.length,`more domain`)]})]})}function Z({of:e,after:t}){let{asof:n}=p(),r=G(e.id,t),i=k(),o=e.since&&new Date(Date.parse(e.since)-1e3).toISOString();return g(`aside`,{class:`card flush panel`,"aria-label":`Incident ${e.id}`,children:[g(`h2`,{children:[g(w,{state:M(e)}),` `,g(`span`,{class:`name`,children:a(N(e))}),g(`button`,{type:`button`,class:`square`,"aria-label":`Close`,onClick:()=>h({sel:void 0}),children:g(`span`,{"aria-hidden":`true`,children:`×`})})]}),g(`div`,{class:`band ${M(e)}`,children:[g(`strong`,{children:e.why??`No reason is known`}),g(`span`,{children:[e.who,e.since&&`, ${T(e.since)}, ${C(e.since,S(n))} ago`,e.source&&`, by ${e.source}`]})]}),g(`div`,{class:`inner row`,children:[i&&e.causeCount===e.causes.length&&g(`button`,{type:`button`,"data-writes":!0,"aria-haspopup":`dialog`,onClick:()=>O({places:e.causes,state:`up`}),children:`Bring back…`}),e.place&&g(`a`,{class:`button main`,href:m(`at`,e.place),children:`Show it`}),o&&g(`a`,{class:`button`,href:m(`at`,N(e),{asof:o}),children:`Before it`})]}),g(c,{}),g(`div`,{class:`inner`,children:[g(`h3`,{children:`What follows from it`}),g(R,{of:e,costs:r.data}),e.standing.map(({server:e,instance:t,host:n})=>g(`p`,{class:`quiet`,children:[Q(e),` is `,[t,n].filter(Boolean).join(`, `)]},e)),e.drift.map(e=>g(`p`,{children:[`Drift: `,e.rule.replaceAll(`_`,` `),` of `,g(`a`,{href:m(`at`,e.address),children:e.address}),e.found&&`: ${e.found}`]},e.id))]}),g(K,{of:r}),e.lastChange&&e.lastChange.at!==e.since&&g(`p`,{class:`inner quiet`,children:[`Last change `,b(e.lastChange.at),` UTC, `,e.lastChange.who,`: `,e.lastChange.why]})]})}var Q=e=>e.split(`/`).slice(-1)[0];function $({route:t}){let n=e(j);return g(`article`,{children:[g(`header`,{class:`title`,children:[g(`h1`,{children:`Incidents`}),n.data&&g(`p`,{children:ee(n.data)}),g(`div`,{class:`tools`,children:g(v,{asked:[j]})})]}),g(d,{span:t.options.span}),g(_,{of:n,children:e=>g(ne,{data:e,sel:t.options.sel??``})})]})}function ee({incidents:{totalCount:e,edges:t}}){let n=new Map;for(let{kind:e,count:r}of t.flatMap(({node:e})=>e.parts))n.set(e,(n.get(e)??0)+r);let r=[...n].map(([e,t])=>s(t,x(e)));return e?`${s(e,`root cause`)} ${e===1?`explains`:`explain`} ${r.join(`, `)} not up`:``}var te={rack:`in one rack within five minutes`,change:`one change`};function ne({data:e,sel:t}){let{edges:n,totalCount:i}=e.incidents,a=n.findIndex(({node:e})=>e.id===t),o=n[a]?.node;return n.length?g(`div`,{class:o?`columns`:void 0,children:[g(`section`,{class:`card flush`,"aria-label":`Open incidents`,children:[g(ae,{nodes:n.map(({node:e})=>e),sel:t}),i>n.length&&g(`p`,{class:`inner quiet`,children:[`The first `,n.length,` of `,r(i),`; `,g(`code`,{children:`trninv incidents`}),` lists all.`]})]}),o&&g(Z,{of:o,after:n[a-1]?.cursor??null}),t&&!o&&g(`p`,{class:`card quiet`,children:[`Incident `,t,` is not open at this time: all of it is up.`]})]}):g(re,{data:e})}function re({data:e}){let t=e.events.nodes[0];return g(`section`,{class:`card`,children:[g(`p`,{children:`Nothing is open: every part is up.`}),t&&g(`p`,{class:`quiet`,children:[`Last closed: `,g(`a`,{href:m(`at`,t.address),children:t.address}),`, `,T(t.at),`, `,t.who,`: `,t.why]})]})}var ie=[[`Root cause`],[`Reason`],[`Impact`,`roomy`],[`Who`,`roomy`],[`Open for`,`number`]];function ae({nodes:e,sel:t}){let{asof:n}=p();return g(l,{name:`Incidents`,columns:ie,isPick:!0,children:e.map(e=>g(u,{tells:JSON.stringify([e.parts,e.why]),isChosen:e.id===t,children:[g(`th`,{scope:`row`,children:[g(`a`,{class:`cause`,href:m(`incidents`,``,{sel:e.id===t?void 0:e.id}),"aria-current":e.id===t?`true`:void 0,children:[g(w,{state:M(e)}),g(`span`,{class:`unseen`,children:[M(e),`: `]}),a(N(e))]}),e.causeCount>1&&g(`span`,{class:`quiet`,children:[s(e.causeCount,`cause`),`, `,te[e.rule]]})]}),g(`td`,{children:e.why??g(`span`,{class:`quiet`,children:`no reason is known`})}),g(`td`,{class:`roomy`,children:e.parts.map(({kind:e,state:t,count:n})=>`${s(n,x(e))} ${E(t)}`).join(`, `)}),g(`td`,{class:`roomy`,children:e.who}),g(`td`,{class:`number`,children:e.since?C(e.since,S(n)):`not known`})]},e.id))})}export{$ as Incidents};