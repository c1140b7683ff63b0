import{_ as e,a as t,c as n,d as r,l as i,p as a,r as o,x as s}from"./words.js";import{f as c,n as l,r as u,t as d}from"./index.js";import{C as f,h as p,i as m,n as h,t as g}from"./jsxRuntime.js";import{o as _,r as v,t as y}from"./parts.js";import{a as b,d as x,f as S,l as C,n as w,o as T,p as E,t as D}from"./state.js";import{n as O,t as k}from"./asked.js";var A=e(`
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
`),j=a(A,{}),M=({parts:e})=>[`down`,`degraded`,`maintenance`].find(t=>e.some(e=>e.state===t))??`down`,N=e=>e.place??e.causes[0]??``,P=e(`
  query CarryNothing($at: Address!) {
    resolve(address: $at) {
      ... on Chip { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
      ... on Switch { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
      ... on Nic { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
      ... on NetworkNode { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
    }
  }
`),F=e(`
  query ServerCarriesNothing($domain: Address!, $within: String!) {
    links(first: 1, filter: {
      domain: { eq: $domain }, address: { contains: $within }, bandwidth: { eq: { bytesPerSecond: "0" } }
    }) { totalCount }
  }
`),I=e(`
  query JobsThere($of: Address!) { jobs(of: $of, first: 4) { totalCount nodes { name system externalId } } }
`),L=4;function R({of:e,costs:t}){let r=e.parts.reduce((e,{count:t})=>e+t,0),i=e.causeCount-Math.min(L,e.causes.length);return g(`ul`,{class:`tree`,children:[e.causes.slice(0,L).map(e=>g(z,{address:e},e)),i>0&&g(`li`,{class:`quiet`,children:[`and `,o(i,`more cause`)]}),r>e.causeCount&&g(`li`,{class:`follows states`,children:g(D,{of:e.parts})}),e.staying>0&&g(`li`,{class:`follows`,children:[o(e.staying,`part`),` not up by themselves: they stay so when the causes are back`]}),t?.domains.map(e=>g(`li`,{class:`follows`,children:[g(w,{state:`up`}),g(`span`,{children:[g(`strong`,{children:o(e.chipsNow,`chip`)}),` still reached`,` `,g(`span`,{class:`quiet`,children:[`of `,n(e.chipsBefore),` of `,g(`a`,{href:m(`domain`,e.domain),children:e.domain})]})]})]},e.domain)),t&&g(V,{of:t}),t?.domains.filter(H).map(e=>g(U,{domain:e.domain,known:t.jobs},e.domain))]})}function z({address:e}){let t=/\/s\d+$/.test(e),n=e.replace(/\/[^/]+$/,``),r=s(t?a(F,{domain:n,within:`${e}/`}):null),c=s(t||e.includes(`--`)?null:a(P,{at:e})),l=r.data?.links??(c.data&&`links`in c.data.resolve?c.data.resolve.links:void 0);return g(`li`,{children:[g(`a`,{href:m(`at`,e),children:i(e)}),` `,g(`span`,{class:`quiet`,children:`root cause`}),l&&l.totalCount>0&&g(`ul`,{class:`tree`,children:g(`li`,{children:[g(w,{state:`down`}),g(`span`,{children:[g(`strong`,{children:o(l.totalCount,`link`)}),` `,l.totalCount===1?`carries`:`carry`,` `,`nothing`]})]})})]})}var B=({of:{name:e,system:t,externalId:n}})=>g(`a`,{href:m(`jobs`,``,{sel:e}),children:e||`${t}:${n}`});function V({of:{jobCount:e,jobs:t}}){return e?g(`li`,{class:`follows`,children:[g(w,{state:`down`}),g(`span`,{children:[g(`strong`,{children:o(e,`job`)}),` with chips of it`,t.slice(0,L).map(e=>g(`span`,{class:`quiet`,children:[` `,g(B,{of:e}),`: `,n(e.touched),` of its `,o(e.chips,`chip`)]},`${e.system} ${e.externalId}`))]})]}):g(`li`,{class:`follows quiet`,children:`No job holds chips of it`})}var H=({allGatherBefore:e,allGatherNow:t,bisectionBefore:n,bisectionNow:r,isComparable:i})=>t.upper.gigabytesPerSecond<e.lower.gigabytesPerSecond||i&&r.upper.gigabytesPerSecond<n.lower.gigabytesPerSecond;function U({domain:e,known:t}){let{data:n}=s(a(I,{of:e})),r=({system:e,externalId:n})=>t.some(t=>t.system===e&&t.externalId===n),i=n?.jobs.nodes.filter(e=>!r(e))??[];return i.length?g(`li`,{class:`follows`,children:[g(w,{state:`degraded`}),g(`span`,{children:[g(`strong`,{children:o(i.length,`job`)}),` on other chips of `,e,`, slower between them:`,i.map(e=>g(`span`,{children:[` `,g(B,{of:e})]},`${e.system} ${e.externalId}`))]})]}):null}var W=e(`
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
`);function G(e,t){let n=s(a(W,{after:t})),i=n.data?.incidents.nodes[0];return!n.data||i?.id===e?{...n,data:i?.impact}:{...n,data:void 0,error:new r(`The list has just changed.`,``)}}function K({of:e}){return g(`div`,{class:`inner`,children:[g(`h3`,{children:`Impact, before → after`}),g(_,{of:e,children:e=>g(X,{of:e})})]})}var q=({lower:e,upper:t,exact:r})=>`${r?``:`${n(e.gigabytesPerSecond)} to `}${n(t.gigabytesPerSecond)} GB/s`,J=(e,t)=>e&&e!==t?`${t<e?`−`:`+`}${n(Math.abs(100*(t-e)/e))} %`:``;function Y({name:e,was:t,is:n,note:r,less:i}){return g(`div`,{children:[g(`dt`,{children:e}),g(`dd`,{children:[g(y,{now:n,before:t}),` `,g(`span`,{class:i?.startsWith(`−`)?`less`:`quiet`,children:r??i})]})]})}function X({of:e}){return g(f,{children:[g(`p`,{children:e.chips?`${o(e.chips,`chip`)} with ${o(e.cores,`core`)} and ${t(e.memory)} carry nothing.`:`Every chip still carries.`}),e.domains.map(e=>{let[r,i]=[e.poolBefore.gibibytes,e.poolNow.gibibytes],[a,o]=[e.bisectionBefore,e.bisectionNow],[s,c]=[e.allGatherBefore,e.allGatherNow],l=e.isComparable?{}:{note:`not comparable: fewer chips`};return g(`section`,{"aria-label":e.domain,children:[g(`h4`,{children:g(`a`,{href:m(`domain`,e.domain),children:e.domain})}),g(`dl`,{class:`figures`,children:[g(Y,{name:`Chips that carry`,was:n(e.chipsBefore),is:n(e.chipsNow),less:J(e.chipsBefore,e.chipsNow)}),g(Y,{name:`Still reached, most HBM`,was:t(e.poolBefore),is:t(e.poolNow),less:J(r,i)}),g(Y,{name:`Bisection`,was:q(a),is:q(o),less:J(a.upper.gigabytesPerSecond,o.upper.gigabytesPerSecond),...l}),g(Y,{name:`All-gather, at most`,was:q(s),is:q(c),less:J(s.upper.gigabytesPerSecond,c.upper.gigabytesPerSecond)})]})]},e.domain)}),e.domainCount>e.domains.length&&g(`p`,{class:`quiet`,children:[`and `,o(e.domainCount-e.domains.length,`more domain`)]})]})}function Z({of:e,after:t}){let{asof:n}=p(),r=G(e.id,t),a=k(),o=e.since&&new Date(Date.parse(e.since)-1e3).toISOString();return g(`aside`,{class:`card flush panel`,"aria-label":`Incident ${e.id}`,children:[g(`h2`,{children:[g(w,{state:M(e)}),` `,g(`span`,{class:`name`,children:i(N(e))}),g(`button`,{type:`button`,class:`square`,"aria-label":`Close`,onClick:()=>h({sel:void 0}),children:g(`span`,{"aria-hidden":`true`,children:`×`})})]}),g(`div`,{class:`band ${M(e)}`,children:[g(`strong`,{children:e.why??`No reason is known`}),g(`span`,{children:[e.who,e.since&&`, ${T(e.since)}, ${C(e.since,S(n))} ago`,e.source&&`, by ${e.source}`]})]}),g(`div`,{class:`inner row`,children:[a&&e.causeCount===e.causes.length&&g(`button`,{type:`button`,"data-writes":!0,"aria-haspopup":`dialog`,onClick:()=>O({places:e.causes,state:`up`}),children:`Bring back…`}),e.place&&g(`a`,{class:`button main`,href:m(`at`,e.place),children:`Show it`}),o&&g(`a`,{class:`button`,href:m(`at`,N(e),{asof:o}),children:`Before it`})]}),g(c,{}),g(`div`,{class:`inner`,children:[g(`h3`,{children:`What follows from it`}),g(R,{of:e,costs:r.data}),e.standing.map(({server:e,instance:t,host:n})=>g(`p`,{class:`quiet`,children:[Q(e),` is `,[t,n].filter(Boolean).join(`, `)]},e)),e.drift.map(e=>g(`p`,{children:[`Drift: `,e.rule.replaceAll(`_`,` `),` of `,g(`a`,{href:m(`at`,e.address),children:e.address}),e.found&&`: ${e.found}`]},e.id))]}),g(K,{of:r}),e.lastChange&&e.lastChange.at!==e.since&&g(`p`,{class:`inner quiet`,children:[`Last change `,b(e.lastChange.at),` UTC, `,e.lastChange.who,`: `,e.lastChange.why]})]})}var Q=e=>e.split(`/`).slice(-1)[0];function $({route:e}){let t=s(j);return g(`article`,{children:[g(`header`,{class:`title`,children:[g(`h1`,{children:`Incidents`}),t.data&&g(`p`,{children:ee(t.data)}),g(`div`,{class:`tools`,children:g(v,{asked:[j]})})]}),g(d,{span:e.options.span}),g(_,{of:t,children:t=>g(ne,{data:t,sel:e.options.sel??``})})]})}function ee({incidents:{totalCount:e,edges:t}}){let n=new Map;for(let{kind:e,count:r}of t.flatMap(({node:e})=>e.parts))n.set(e,(n.get(e)??0)+r);let r=[...n].map(([e,t])=>o(t,x(e)));return e?`${o(e,`root cause`)} ${e===1?`explains`:`explain`} ${r.join(`, `)} not up`:``}var te={rack:`in one rack within five minutes`,change:`one change`};function ne({data:e,sel:t}){let{edges:r,totalCount:i}=e.incidents,a=r.findIndex(({node:e})=>e.id===t),o=r[a]?.node;return r.length?g(`div`,{class:o?`columns`:void 0,children:[g(`section`,{class:`card flush`,"aria-label":`Open incidents`,children:[g(ae,{nodes:r.map(({node:e})=>e),sel:t}),i>r.length&&g(`p`,{class:`inner quiet`,children:[`The first `,r.length,` of `,n(i),`; `,g(`code`,{children:`trninv incidents`}),` lists all.`]})]}),o&&g(Z,{of:o,after:r[a-1]?.cursor??null}),t&&!o&&g(`p`,{class:`card quiet`,children:[`Incident `,t,` is not open at this time: all of it is up.`]})]}):g(re,{data:e})}function re({data:e}){let t=e.events.nodes[0];return g(`section`,{class:`card`,children:[g(`p`,{children:`Nothing is open: every part is up.`}),t&&g(`p`,{class:`quiet`,children:[`Last closed: `,g(`a`,{href:m(`at`,t.address),children:t.address}),`, `,T(t.at),`, `,t.who,`: `,t.why]})]})}var ie=[[`Root cause`],[`Reason`],[`Impact`,`roomy`],[`Who`,`roomy`],[`Open for`,`number`]];function ae({nodes:e,sel:t}){let{asof:n}=p();return g(l,{name:`Incidents`,columns:ie,isPick:!0,children:e.map(e=>g(u,{tells:JSON.stringify([e.parts,e.why]),isChosen:e.id===t,children:[g(`th`,{scope:`row`,children:[g(`a`,{class:`cause`,href:m(`incidents`,``,{sel:e.id===t?void 0:e.id}),"aria-current":e.id===t?`true`:void 0,children:[g(w,{state:M(e)}),g(`span`,{class:`unseen`,children:[M(e),`: `]}),i(N(e))]}),e.causeCount>1&&g(`span`,{class:`quiet`,children:[o(e.causeCount,`cause`),`, `,te[e.rule]]})]}),g(`td`,{children:e.why??g(`span`,{class:`quiet`,children:`no reason is known`})}),g(`td`,{class:`roomy`,children:e.parts.map(({kind:e,state:t,count:n})=>`${o(n,x(e))} ${E(t)}`).join(`, `)}),g(`td`,{class:`roomy`,children:e.who}),g(`td`,{class:`number`,children:e.since?C(e.since,S(n)):`not known`})]},e.id))})}export{$ as Incidents};